package modelclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

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
	Extra               map[string]json.RawMessage // further fields, which the provider of a chat wants back as they are
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

	limitBy string // the field of a chat that has MaxOutput; empty: max_tokens
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
	StopRefusal Stop = "refusal" // the model refuses; Text may say why
	StopFilter  Stop = "filter"  // the provider's content filter ended it, anywhere; Reason may say why
	StopContext Stop = "context" // the model's context is full: it may break off anywhere
	StopPause   Stop = "pause"   // the provider wants to be asked again, with this answer added
)

// Answer is a whole answer of a model.
type Answer struct {
	Message
	Stop   Stop
	Reason string       // of StopFilter, in the provider's words; may be empty
	Usage  *model.Usage // nil: the provider did not say
}

// Refused says, for people, that the model or its provider refuses; nil: neither does.
func (a Answer) Refused() error {
	switch said := flat(a.Text); {
	case a.Stop == StopFilter && a.Reason != "":
		return fmt.Errorf("stopped by the provider's content filter: %s", flat(a.Reason))
	case a.Stop == StopFilter:
		return errors.New("stopped by the provider's content filter")
	case a.Stop == StopRefusal && said != "":
		return fmt.Errorf("the model refuses: %s", said)
	case a.Stop == StopRefusal:
		return errors.New("the model refuses, and does not say why")
	}
	return nil
}

// flat makes one line of a text, of the size of a message.
func flat(s string) string { return excerpt(strings.Join(strings.Fields(s), " ")) }
