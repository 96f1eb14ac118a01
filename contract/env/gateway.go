package env

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"sett/contract/model"
)

// The variables of the gateway to the models, besides those of the instance and the
// blackboard.
const (
	Models       = "SETT_MODELS"             // JSON object of Gateway
	ModelAddr    = "SETT_MODEL_GATEWAY_ADDR" // where it listens, host:port
	GatewayKey   = "SETT_MODEL_GATEWAY_KEY"  // the secret of which agents' tokens are made
	ModelKeys    = "SETT_MODEL_KEYS"         // file with the providers' keys, for a container: a JSON object, by the model's name in sett.yml
	ModelSecrets = "SETT_MODEL_SECRETS"      // that JSON object itself, for a process; it goes through a pipe
	ModelAccount = "SETT_MODEL_ACCOUNT"      // blackboard (default), or own: the gateway keeps it itself, for sett try
	ModelAnswers = "SETT_MODEL_ANSWERS"      // directory where the answers of running grants are kept; unset: a new attempt pays again
)

// The variables of a cub for an agent with a model.
const (
	ModelGateway = "SETT_MODEL_GATEWAY" // the gateway's URL, http://host:port
	ModelToken   = "SETT_MODEL_TOKEN"   // the agent's token there
)

// Gateway has the settings of the gateway to the models. Only the last group is in the
// JSON of the variable Models.
type Gateway struct {
	Instance   string `json:"-"`
	Addr       string `json:"-"`
	Key        string `json:"-"` // of which agents' tokens are made
	Keys       string `json:"-"` // path of the file with the providers' keys; empty: there is none
	Secrets    string `json:"-"` // the providers' keys, as the file has them; empty: none but the file's
	Answers    string `json:"-"` // directory; empty: none are kept
	HealthAddr string `json:"-"`
	Own        bool   `json:"-"` // it keeps the account itself; there is no blackboard
	Redis      Redis  `json:"-"`

	Models   []Model                 `json:"models"`
	Agents   map[string]GatewayAgent `json:"agents"`
	Budget   model.Budget            `json:"budget,omitzero"` // of each goal
	OnBudget string                  `json:"on_budget,omitempty"`
}

// GatewayAgent is an agent that may call a model.
type GatewayAgent struct {
	Model  string       `json:"model"`           // its name in sett.yml
	Budget model.Budget `json:"budget,omitzero"` // of each of its grants
}

// Model is a model of sett.yml, without its key.
type Model struct {
	Name        string            `json:"name"` // in sett.yml
	API         model.API         `json:"api"`
	BaseURL     string            `json:"base_url"` // http or https, as URL reads it
	Model       string            `json:"model"`    // its name at the provider
	Context     int64             `json:"context,omitempty"`
	MaxOutput   int64             `json:"max_output,omitempty"`
	Price       *model.Price      `json:"price,omitempty"`       // nil: it has no cost
	Timeout     time.Duration     `json:"timeout,omitempty"`     // for the answer's headers; 0: 10m
	Idle        time.Duration     `json:"idle,omitempty"`        // between two parts of an answer; 0: 5m
	Retries     *int              `json:"retries,omitempty"`     // nil: 3
	Concurrency int               `json:"concurrency,omitempty"` // calls under way; 0: 64
	CAFile      string            `json:"ca_file,omitempty"`     // certificates to trust besides the usual ones, PEM
	Headers     map[string]string `json:"headers,omitempty"`
	KeyFrom     string            `json:"key_from,omitempty"` // the variable or the file that a person has its key in; empty: it has none
	Record      string            `json:"record,omitempty"`   // directory
	Replay      string            `json:"replay,omitempty"`   // directory
	Ignore      []string          `json:"ignore,omitempty"`   // regular expressions: what they match in a request does not tell it from another
}

// URL is the address of one of the APIs' paths, such as /v1/models. A base URL without a
// path, and any of the API messages, stands before the /v1; another one has its own version.
func (m Model) URL(path string) string {
	base := strings.TrimRight(m.BaseURL, "/")
	u, err := url.Parse(base)
	if versioned := strings.HasSuffix(base, "/v1"); err == nil && (versioned || m.API != model.Messages && u.Path != "") {
		path = strings.TrimPrefix(path, "/v1")
	}
	return base + path
}

// ownAccount is the other value of ModelAccount.
const ownAccount = "own"

// Environ writes the variables, without the empty ones.
func (g Gateway) Environ() []string {
	var out []string
	for _, v := range []struct{ name, value string }{
		{Instance, g.Instance}, {ModelAddr, g.Addr}, {GatewayKey, g.Key}, {ModelKeys, g.Keys}, {ModelSecrets, g.Secrets}, {ModelAnswers, g.Answers}, {HealthAddr, g.HealthAddr},
		{Models, encoded(g)},
	} {
		if v.value != "" {
			out = append(out, v.name+"="+v.value)
		}
	}
	if g.Own {
		return append(out, ModelAccount+"="+ownAccount)
	}
	return append(out, g.Redis.Environ()...)
}

// ParseGateway reads the settings of the gateway. The error lists every wrong variable.
func ParseGateway(lookup func(string) (string, bool)) (Gateway, error) {
	r := &Reader{Lookup: lookup}
	var g Gateway
	const want = "the JSON object that sett up gives"
	r.Required(Models, want)
	before := len(r.problems)
	r.array(Models, &g, want)
	g.Instance = r.Required(Instance, "the instance's name, such as my-sett")
	g.Addr = r.Required(ModelAddr, "where to listen, such as 127.0.0.1:7071")
	g.Key = r.Required(GatewayKey, "the secret of which agents' tokens are made")
	g.Keys, g.Secrets, g.Answers = r.Or(ModelKeys, ""), r.Or(ModelSecrets, ""), r.Or(ModelAnswers, "")
	g.HealthAddr = r.Or(HealthAddr, ":8080")
	if g.Own = r.OneOf(ModelAccount, "blackboard", ownAccount) == ownAccount; !g.Own {
		g.Redis = r.Redis()
	}
	if v := r.Or(Models, ""); v != "" && len(r.problems) == before {
		if err := g.check(); err != nil {
			r.problems = append(r.problems, fmt.Sprintf("%s: %v; want %s", Models, err, want))
		}
	}
	return g, r.Err()
}

// check says whether every agent has a model, and every model an address.
func (g Gateway) check() error {
	names := map[string]bool{}
	for _, m := range g.Models {
		u, err := url.Parse(m.BaseURL)
		switch {
		case m.Name == "" || names[m.Name]:
			return fmt.Errorf("two models are called %q, or one has no name", m.Name)
		case !slices.Contains(model.APIs(), m.API):
			return fmt.Errorf("model %s: api is %q", m.Name, m.API)
		case m.Model == "":
			return fmt.Errorf("model %s: no name at its provider", m.Name)
		case m.Replay == "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https"):
			return fmt.Errorf("model %s: base_url is %q", m.Name, m.BaseURL)
		}
		names[m.Name] = true
	}
	for agent, a := range g.Agents {
		if !names[a.Model] {
			return fmt.Errorf("agent %s: there is no model %q", agent, a.Model)
		}
	}
	return nil
}

// ProxyKey is the name under which the keys have the proxy to a model's provider: a URL, which may hold a password.
func ProxyKey(model string) string { return model + proxyMark }

// IsProxyKey says whether a name among the keys is that of a proxy. No header is called so.
func IsProxyKey(name string) bool { return strings.HasSuffix(name, proxyMark) }

const proxyMark = "//proxy"

// ParseModelKeys reads the JSON object from models' names to keys, with headers as NAME/HEADER and proxies as ProxyKey
// names them.
func ParseModelKeys(text []byte) (map[string]string, error) {
	keys := map[string]string{}
	if err := json.Unmarshal(text, &keys); err != nil {
		return nil, errors.New("they are no JSON object of keys") // the cause might show a part of one
	}
	for name, key := range keys {
		if strings.ContainsAny(key, "\r\n\x00") || strings.TrimSpace(key) != key {
			return nil, fmt.Errorf("the key of model %s has a space or a line's end", name)
		}
	}
	return keys, nil
}
