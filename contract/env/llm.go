package env

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
)

// The variables of an agent's model, which its tool gets from the door in its cub. The
// socket and the base URLs lead to the same place, and both keys are the same token.
const (
	ModelSocket   = "SETT_MODEL_SOCKET" // path of a Unix socket that serves all three APIs
	ModelName     = "SETT_MODEL"        // the model's name at its provider
	ModelAPI      = "SETT_MODEL_API"    // chat (default), messages or responses: the API that the model is served by
	OpenAIBase    = "OPENAI_BASE_URL"   // http://127.0.0.1:PORT/v1
	OpenAIOldBase = "OPENAI_API_BASE"   // the same, as aider and others read it
	OpenAIKey     = "OPENAI_API_KEY"
	AnthropicBase = "ANTHROPIC_BASE_URL" // http://127.0.0.1:PORT
	AnthropicKey  = "ANTHROPIC_API_KEY"
	LLMSettings   = "SETT_LLM" // JSON object of LLM, for `sett llm`; default: {}
)

// DoorVariables are the variables that lead to a model. The programs that a model has run
// get none of them.
var DoorVariables = []string{
	ModelSocket, ModelName, ModelAPI, OpenAIBase, OpenAIOldBase, OpenAIKey, AnthropicBase, AnthropicKey, "ANTHROPIC_AUTH_TOKEN", LLMSettings,
}

// LLM has the settings of `sett llm` from an agent's part of sett.yml: of `llm`, of its
// model in `models`, and of `makes` and `terminal`.
type LLM struct {
	Context     int           `json:"context,omitempty"`     // tokens that the model takes in all; 0: not known
	MaxOutput   int           `json:"max_output,omitempty"`  // tokens of one answer; 0: DefaultMaxOutput
	Temperature *float64      `json:"temperature,omitempty"` // nil: the model's own
	Tools       []string      `json:"tools,omitempty"`       // of LLMTools; ask and finish are always there
	Run         []string      `json:"run,omitempty"`         // the programs that the tool run may start
	Shell       bool          `json:"shell,omitempty"`       // run takes a line for sh -c; Run does not count
	RunTimeout  time.Duration `json:"run_timeout,omitempty"` // of one run, in nanoseconds; 0: DefaultRunTimeout
	Steps       int           `json:"steps,omitempty"`       // answers of the model; 0: DefaultSteps
	Makes       []string      `json:"makes,omitempty"`       // the types of its results; none: any
	Terminal    bool          `json:"terminal,omitempty"`    // its results under exclusive are final
	Limit       string        `json:"limit,omitempty"`       // the field of a chat with the limit of the output; empty: max_tokens
}

// The tools of `sett llm` that sett.yml chooses.
const (
	ToolEdit   = "edit"
	ToolRun    = "run"
	ToolSearch = "search"
)

// LLMTools are all of them.
func LLMTools() []string { return []string{ToolEdit, ToolRun, ToolSearch} }

// The defaults of LLM.
const (
	DefaultMaxOutput  = 16_000
	DefaultSteps      = 100
	DefaultRunTimeout = 2 * time.Minute
)

// Encode returns the value of the variable LLMSettings.
func (l LLM) Encode() string { return encoded(l) }

// Has says whether the model has the tool.
func (l LLM) Has(tool string) bool { return slices.Contains(l.Tools, tool) }

// ParseLLM reads the settings of `sett llm`, with defaults filled in. The error lists every wrong
// variable.
func ParseLLM(lookup func(string) (string, bool)) (LLM, error) {
	const want = `a JSON object such as {"tools":["edit","run"],"run":["go"]}`
	r := &Reader{Lookup: lookup}
	var l LLM
	if v := r.Or(LLMSettings, ""); v != "" {
		dec := json.NewDecoder(strings.NewReader(v))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&l); err != nil || dec.More() {
			r.wrong(LLMSettings, v, want)
		}
	}
	for _, tool := range l.Tools {
		if !slices.Contains(LLMTools(), tool) {
			r.wrong(LLMSettings, tool, "tools among "+strings.Join(LLMTools(), ", "))
		}
	}
	if l.Context < 0 || l.MaxOutput < 0 || l.Steps < 0 || l.RunTimeout < 0 {
		r.wrong(LLMSettings, r.Or(LLMSettings, ""), "no negative number")
	}
	if l.MaxOutput == 0 {
		l.MaxOutput = DefaultMaxOutput
	}
	if l.Context > 0 { // an answer needs room beside the prompt
		l.MaxOutput = min(l.MaxOutput, max(1, l.Context/2))
	}
	if l.Steps == 0 {
		l.Steps = DefaultSteps
	}
	if l.RunTimeout == 0 {
		l.RunTimeout = DefaultRunTimeout
	}
	return l, r.Err()
}

// WithoutDoor returns an environment without the ways to a model and without Sett's own
// variables, for programs that a model chose. It does not change the given slice.
func WithoutDoor(environ []string) []string {
	var out []string
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(name, "SETT_") && !slices.Contains(DoorVariables, name) && !slices.Contains(Secret, name) {
			out = append(out, v)
		}
	}
	return out
}
