package modeltest

import (
	"encoding/json"
	"time"

	"sett/contract/model"
)

// Step is one answer.
type Step struct {
	For func(Request) bool // plays for the first request that it accepts; nil: for any

	Text       string // KeyMark in it becomes the key of the request
	Calls      []Call // of tools
	Structured any    // given as JSON: as text, or in the tool that the request forces
	Refusal    string // the model declines
	Length     bool   // the answer ends at the output limit

	Usage   *model.Usage // nil: a token for each four bytes
	NoUsage bool         // the provider says nothing of it

	Chunks int             // of the text in a stream; 0: 4
	Pause  time.Duration   // between them
	Wait   time.Duration   // before the headers
	Begin  <-chan struct{} // the headers wait until it closes
	Middle <-chan struct{} // the second chunk of a stream waits until it closes

	Header map[string]string // of the answer
	Fault  Fault
	Size   int64 // of the text of Large; 0: 64 MiB
}

// KeyMark is replaced by the request's key, as by a provider that echoes it.
const KeyMark = "{{key}}"

// Call is a call of a tool. Arguments are sent as they are, JSON or not; the API of
// messages cannot say broken JSON outside a stream, and has it as a string.
type Call struct {
	ID        string // empty: a running number
	Name      string
	Arguments string
}

// Text is a step that answers with a text.
func Text(text string) Step { return Step{Text: text} }

// Structured is a step that answers with a value.
func Structured(v any) Step { return Step{Structured: v} }

// Calls is a step that calls tools.
func Calls(calls ...Call) Step { return Step{Calls: calls} }

// Tool is a call with arguments in JSON.
func Tool(name string, arguments any) Call {
	b, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return Call{Name: name, Arguments: string(b)}
}

// Broken is a step with a fault.
func Broken(f Fault) Step { return Step{Fault: f} }

// Fault is a way in which an answer fails.
type Fault string

// The faults with an error's status. Text is their message.
const (
	BadRequest      Fault = "400"
	Unauthorized    Fault = "401"
	PaymentRequired Fault = "402"
	NoModel         Fault = "404"
	TimedOut        Fault = "408"
	TooLarge        Fault = "413"
	ContextOverflow Fault = "context overflow" // 400
	TooFast         Fault = "429"              // Header may have a retry-after
	OutOfMoney      Fault = "429 money"
	ServerError     Fault = "500"
	Unavailable     Fault = "503"
	Overloaded      Fault = "529"
)

// The other faults. Those of streams are a cut body or silence for other requests.
const (
	StreamError   Fault = "error event"    // 200, and an error after the first chunk
	Reset         Fault = "reset"          // the connection is reset before the answer
	CutHeaders    Fault = "cut headers"    // it ends in the headers
	CutBody       Fault = "cut body"       // in the body, whose length is known
	CutChunk      Fault = "cut chunk"      // in a chunk of a chunked body
	CutStream     Fault = "cut stream"     // 200, and a whole end without the last events
	SilentHeaders Fault = "silent headers" // no answer until the client goes
	SilentStream  Fault = "silent stream"  // nothing after the first chunk until the client goes
	HTML          Fault = "html"           // 200 and a page for people
	TruncatedJSON Fault = "truncated json" // 200, whole by HTTP
	WrongSchema   Fault = "wrong schema"   // 200 and JSON of another form
	Empty         Fault = "empty"          // 200 and an answer without content
	NoBody        Fault = "no body"        // 200 and nothing
	Large         Fault = "large"          // a text of Size
	Endless       Fault = "endless"        // a text without an end
	Redirect      Fault = "redirect"       // 307 to Header["Location"]
	ErrorHTML     Fault = "502 html"       // a proxy's page
	HugeHeaders   Fault = "huge headers"   // 4 MiB of them
)
