package modelclient

import (
	"encoding/json"

	"sett/contract/model"
)

// Message is one turn of a conversation. A user's has Text, or the Results of the calls of
// the turn before, or both: results come first.
type Message struct {
	Assistant bool // else the user's
	Text      string
	Calls     []Call            // of the assistant
	Results   []Result          // of the user
	Opaque    []json.RawMessage // of the assistant: parts that only the provider can read, and wants back as they are
}

// Call is the model's wish to have a tool called. The arguments may be no JSON.
type Call struct {
	ID, Name, Arguments string
}

// Result is the answer to a call.
type Result struct {
	Call   string // its ID
	Text   string
	Failed bool
}

// Tool is a tool that the model may call.
type Tool struct {
	Name, Description string
	Schema            json.RawMessage // of its arguments, a JSON object
}

// Request is one question to a model.
type Request struct {
	System      string
	Messages    []Message // oldest first; the last is the user's
	Tools       []Tool
	Force       string   // the tool that the model must call; empty: its choice
	Schema      *Schema  // of the answer's text; nil: any text
	MaxOutput   int      // tokens; required
	Temperature *float64 // nil: the model's own
}

// Schema is the form of a structured answer.
type Schema struct {
	Name string // letters, digits, _ and -
	JSON json.RawMessage
}

// Stop is the reason for the end of an answer.
type Stop string

// The reasons.
const (
	StopEnd     Stop = "end"     // the model was done
	StopCalls   Stop = "calls"   // it wants tools called
	StopLength  Stop = "length"  // the answer took all of MaxOutput: it may break off anywhere
	StopRefusal Stop = "refusal" // the model or its provider refuses; Text may say why
	StopContext Stop = "context" // the model's context is full: as StopLength
	StopPause   Stop = "pause"   // the provider wants to be asked again, with this answer added
)

// Answer is a whole answer of a model.
type Answer struct {
	Message
	Stop  Stop
	Usage *model.Usage // nil: the provider did not say
}
