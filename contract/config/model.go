package config

import (
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/model"
)

// The tools that sett.yml may give a model, besides those that it always has.
const (
	ToolEdit   = "edit"
	ToolRun    = "run"
	ToolSearch = "search"
)

// BidModel in place of a bid lets the agent's model decide by its prompts.claim.
const BidModel blackboard.BidType = "model"

// Model is a language model that agents may ask.
type Model struct {
	Name        string       `json:"name"`                  // its key in sett.yml
	API         model.API    `json:"api"`                   //
	Model       string       `json:"model"`                 // as the provider calls it
	BaseURL     string       `json:"base_url"`              // of the API, with its version: https://host/v1; without a slash at its end
	KeyEnv      string       `json:"api_key_env,omitempty"` // the host's variable with the key
	KeyFile     string       `json:"api_key_file,omitempty"`
	CAFile      string       `json:"ca_file,omitempty"`    // certificates to trust for BaseURL besides the usual ones, PEM
	Headers     []EnvVar     `json:"headers,omitempty"`    // of each request, in file order; values may have references
	Context     int64        `json:"context,omitempty"`    // tokens; 0: not known
	MaxOutput   int64        `json:"max_output,omitempty"` // tokens of one answer; 0: not known
	Price       *model.Price `json:"price,omitempty"`      // nil: not known
	Timeout     ModelTimeout `json:"timeout"`
	Retries     int          `json:"retries"`               // of a call, beyond the first try
	Concurrency int          `json:"concurrency"`           // calls at once, at least 1
	Temperature *float64     `json:"temperature,omitempty"` // nil: the provider's own
	Record      string       `json:"record,omitempty"`      // directory for requests and answers
	Replay      string       `json:"replay,omitempty"`      // directory in place of the provider
	Ignore      []string     `json:"ignore,omitempty"`      // patterns of texts in which equal requests may differ
}

// ModelTimeout bounds one try of a call.
type ModelTimeout struct {
	Headers time.Duration `json:"headers"` // until the answer begins
	Idle    time.Duration `json:"idle"`    // between two parts of the answer
}

type modelTimeoutJSON struct {
	Headers duration `json:"headers"`
	Idle    duration `json:"idle"`
}

// MarshalJSON writes the keys of sett.yml, durations as strings.
func (t ModelTimeout) MarshalJSON() ([]byte, error) {
	return json.Marshal(modelTimeoutJSON{duration(t.Headers), duration(t.Idle)})
}

// UnmarshalJSON reads the output of MarshalJSON.
func (t *ModelTimeout) UnmarshalJSON(b []byte) error {
	v := modelTimeoutJSON{duration(t.Headers), duration(t.Idle)}
	err := json.Unmarshal(b, &v)
	*t = ModelTimeout{time.Duration(v.Headers), time.Duration(v.Idle)}
	return err
}

// Keyed says whether the model's provider gets a key.
func (m Model) Keyed() bool { return m.KeyEnv != "" || m.KeyFile != "" }

// Budget bounds the calls of each goal.
type Budget struct {
	model.Budget
	OnBudget string `json:"on_budget"` // model.OnBudgetFail or model.OnBudgetAsk
}

// LLM is an agent's use of a model.
type LLM struct {
	Model string   `json:"model"`           // its name in sett.yml
	Tools []string `json:"tools,omitempty"` // of `sett llm`: ToolEdit, ToolRun, ToolSearch
	Run   []string `json:"run,omitempty"`   // the programs that ToolRun starts
	Shell bool     `json:"shell,omitempty"` // ToolRun takes a line for a shell
	Steps int      `json:"steps"`           // answers of the model in one run, at least 1
	Door  bool     `json:"door"`            // its tool gets the variables of the door
	// Of its file, for the agent's cub.
	Asks ModelFacts `json:"asks"`
}

// ModelFacts is what an agent's cub and tool know about the agent's model.
type ModelFacts struct {
	Model       string    `json:"model"`
	API         model.API `json:"api"`
	Context     int64     `json:"context,omitempty"`
	MaxOutput   int64     `json:"max_output,omitempty"`
	Temperature *float64  `json:"temperature,omitempty"`
	OnBudget    string    `json:"on_budget,omitempty"`
	Limit       string    `json:"limit,omitempty"` // the field of a chat with the limit of the output; empty: max_tokens
}

// noteFacts gives each agent the facts about its model.
func (c *Config) noteFacts() {
	for i, a := range c.Agents {
		m, ok := c.ModelOf(a)
		if !ok {
			continue
		}
		c.Agents[i].LLM.Asks = ModelFacts{Model: m.Model, API: m.API, Context: m.Context, MaxOutput: m.MaxOutput, Temperature: m.Temperature}
		if m.API == model.Chat && model.LimitOf(m.BaseURL) != model.MaxTokens { // the agent sees the gateway's address alone
			c.Agents[i].LLM.Asks.Limit = model.LimitOf(m.BaseURL)
		}
		if c.Budget != nil && c.Budget.OnBudget != model.OnBudgetFail { // the usual one is not said
			c.Agents[i].LLM.Asks.OnBudget = c.Budget.OnBudget
		}
	}
}

// Loopback says whether a host's name leads to the machine itself.
func Loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || err == nil && ip.Unmap().IsLoopback()
}

// LLMCommand is the command of an agent with a model and no program of its own. Its first
// word stands for the running sett.
func LLMCommand() []string { return []string{"sett", "llm"} }

// OwnLLM says whether the agent's program is `sett llm`.
func (a Agent) OwnLLM() bool { return a.LLM != nil && slices.Equal(a.Command, LLMCommand()) }

// NeedsImage says whether the agent's container needs an image of its own. `sett llm`
// needs none where it starts no programs.
func (a Agent) NeedsImage() bool {
	return !a.OwnLLM() || len(a.BidScript) > 0 || slices.Contains(a.LLM.Tools, ToolRun)
}

// ModelOf returns the model that an agent may ask.
func (c *Config) ModelOf(a Agent) (Model, bool) {
	if a.LLM == nil {
		return Model{}, false
	}
	i := slices.IndexFunc(c.Models, func(m Model) bool { return m.Name == a.LLM.Model })
	if i < 0 {
		return Model{}, false
	}
	return c.Models[i], true
}

// ModelNames returns the models' names in file order.
func (c *Config) ModelNames() []string {
	names := make([]string, len(c.Models))
	for i, m := range c.Models {
		names[i] = m.Name
	}
	return names
}

// gatewaySettings are the parts of sett.yml that the model gateway uses.
type gatewaySettings struct {
	Models   []Model
	Budget   *Budget
	Agents   []gatewayAgent
	Resolved *Resolved
}

type gatewayAgent struct {
	Name, Model string
	Budget      *model.Budget
}

// ModelsDigest returns a hash, in hex, of all settings of the model gateway, since each
// needs a restart to change; "": there are no models, and it does not run.
func (c *Config) ModelsDigest() string {
	if len(c.Models) == 0 {
		return ""
	}
	g := gatewaySettings{Models: c.Models, Budget: c.Budget, Resolved: c.Services.ModelGateway.Resolved}
	for _, a := range c.Agents {
		if a.LLM != nil {
			g.Agents = append(g.Agents, gatewayAgent{a.Name, a.LLM.Model, a.Budget})
		}
	}
	return digest(g)
}
