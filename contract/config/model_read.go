package config

import (
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"sett/contract/model"
)

// exampleModel is the smallest model.
const exampleModel = "{api: chat, model: NAME, api_key_env: OPENAI_API_KEY}"

// officialURL is the address of an API's maker.
func officialURL(api model.API) string {
	if api == model.Messages {
		return "https://api.anthropic.com/v1"
	}
	return "https://api.openai.com/v1"
}

func defaultModel(name string) Model {
	return Model{Name: name, Timeout: ModelTimeout{DefaultModelHeaders, DefaultModelIdle}, Retries: DefaultModelRetries, Concurrency: DefaultConcurrency}
}

func defaultLLM() LLM { return LLM{Steps: DefaultSteps, Door: true} }

func defaultBudget() Budget { return Budget{OnBudget: model.OnBudgetFail} }

// models are named settings of language models.
func (d *decoder) models(into *[]Model) part {
	return part{
		read: func(n *node, path string) {
			for _, e := range d.read.mapping(n, path) {
				*into = append(*into, d.model(e, path))
			}
		},
		shape: func() *schema {
			m := defaultModel("")
			one := objectShape(d.modelFields(&m))
			one.Required = []string{"api", "model"}
			one.Not = &schema{AnyOf: []*schema{{Required: []string{"api_key_env", "api_key_file"}}, {Required: []string{"record", "replay"}}}}
			one.AllOf = []*schema{{AnyOf: []*schema{{Required: []string{"base_url"}}, {Required: []string{"api_key_env"}}, {Required: []string{"api_key_file"}},
				{Required: []string{"headers"}}, {Required: []string{"replay"}}}}}
			return orNothing(&schema{Type: kinds{"object"}, PropertyNames: &schema{Pattern: `^[a-z0-9][a-z0-9-]*$`, MaxLength: maxName}, Additional: one})
		},
		write: func() any {
			var m pairs
			for i := range *into {
				m = append(m, pair{(*into)[i].Name, writeFields(d.modelFields(&(*into)[i]))})
			}
			if m == nil {
				return nil
			}
			return m
		},
	}
}

func (d *decoder) modelFields(m *Model) []field {
	return []field{
		{"api", "The wire format that the provider speaks: chat (POST /v1/chat/completions), messages (POST /v1/messages) or responses (POST /v1/responses).", oneOf(d.read, &m.API, model.APIs()...)},
		{"model", "The model's name, as its provider has it.", d.read.text(&m.Model, oneLine)},
		{"base_url", "Of the API, with its version: https://host/v1. Default: that of the API's maker.", d.read.text(&m.BaseURL, modelURL)},
		{"api_key_env", "Your machine's variable with the key. Only the model gateway gets its value.", d.read.text(&m.KeyEnv, variable)},
		{"api_key_file", "A file with the key alone, relative to sett.yml; ~/ is your home directory.", d.read.text(&m.KeyFile, oneLine)},
		{"ca_file", "A PEM file with certificates to trust for base_url besides the public ones, such as your company's, relative to sett.yml; ~/ is your home directory.", d.read.text(&m.CAFile, oneLine)},
		{"headers", "Of each request. In a value ${NAME} stands for your machine's variable, and $$ for a dollar.", d.read.headers(&m.Headers)},
		{"context", "Tokens that the model can read and write in one call: a number, or one with k or M.", tokensPart(d.read, &m.Context)},
		{"max_output", "Tokens that it can write in one call.", tokensPart(d.read, &m.MaxOutput)},
		{"price", "Of a million tokens, in any one currency. Without it costs are not known.", optional(d.read, &m.Price, func() model.Price { return model.Price{} }, d.priceFields,
			need{"input", "add input: and output:, as input: 3, output: 15"}, need{"output", "add output:, as output: 15"})},
		{"timeout", "Of one try of a call.", d.read.section(
			field{"headers", "Until the answer begins.", d.read.duration(&m.Timeout.Headers, false)},
			field{"idle", "Between two parts of the answer.", d.read.duration(&m.Timeout.Idle, false)})},
		{"retries", "Of a call whose answer has not begun, when the provider is away or busy.", d.read.count(&m.Retries, 0)},
		{"concurrency", "Calls at once.", d.read.count(&m.Concurrency, 1)},
		{"temperature", "From 0 to 2, for sett llm. Default: the provider's own.", temperaturePart(d.read, &m.Temperature)},
		{"record", "A folder, relative to sett.yml, that gets all requests and answers, without keys.", d.read.text(&m.Record, oneLine)},
		{"replay", "A folder of such a record, which answers in place of the provider.", d.read.text(&m.Replay, oneLine)},
		{"ignore", "Patterns of texts in requests, as of times and ids, in which equal requests may differ: regular expressions.", expressionsPart(d.read, &m.Ignore)},
	}
}

func (d *decoder) priceFields(p *model.Price) []field {
	return []field{
		{"input", "That are neither read from a cache nor written to one.", moneyPart(d.read, &p.Input, true)},
		{"cached", "Read from a cache. Default: as input.", moneyPart(d.read, &p.Cached, true)},
		{"cache_write", "Written to a cache. Default: as input.", moneyPart(d.read, &p.CacheWrite, true)},
		{"output", "Of the model's answer.", moneyPart(d.read, &p.Output, true)},
	}
}

func (d *decoder) model(e entry, path string) Model {
	m := defaultModel(e.key.text)
	path = join(path, m.Name)
	if !validName(m.Name) {
		d.add(e.key.at, errName.Error(), "%s cannot name a model", quote(m.Name))
	}
	if e.value.kind == nothing {
		d.add(e.key.at, "write "+exampleModel, "%s has no api and no model", path)
		return m
	}
	keys := d.read.object(e.value, path, d.modelFields(&m)...)
	if e.value.kind != mapping {
		return m
	}
	if keys["api"] == nil {
		d.add(e.key.at, "add api: chat, messages or responses", "%s has no api", path)
	}
	if keys["model"] == nil {
		d.add(e.key.at, "add the model's name, as its provider has it", "%s has no model", path)
	}
	for _, pair := range [][2]string{{"api_key_env", "api_key_file"}, {"record", "replay"}} {
		if a, b := keys[pair[0]], keys[pair[1]]; a != nil && b != nil {
			d.add(later(a, b), "keep one of them", "%s has both %s and %s", path, pair[0], pair[1])
		}
	}
	d.priced(&m, e.value)
	if keys["base_url"] == nil && m.API != "" {
		m.BaseURL = officialURL(m.API)
		if keys["api_key_env"] == nil && keys["api_key_file"] == nil && keys["headers"] == nil && keys["replay"] == nil {
			hint := "add api_key_env: OPENAI_API_KEY, or base_url: of a server without keys"
			if m.API == model.Messages {
				hint = strings.Replace(hint, "OPENAI", "ANTHROPIC", 1)
			}
			d.add(e.key.at, hint, "%s has no key for %s", path, m.BaseURL)
		}
	}
	m.BaseURL = withVersion(m.BaseURL)
	return m
}

// priced gives tokens of caches the price of other input where they have none.
func (d *decoder) priced(m *Model, n *node) {
	if m.Price == nil {
		return
	}
	has := func(key string) bool {
		for _, e := range n.entries {
			if e.key.text == "price" {
				return slices.ContainsFunc(e.value.entries, func(p entry) bool { return p.key.text == key })
			}
		}
		return false
	}
	if !has("cached") {
		m.Price.Cached = m.Price.Input
	}
	if !has("cache_write") {
		m.Price.CacheWrite = m.Price.Input
	}
}

// withVersion is a base URL without a slash at its end, and with /v1 where it has no path.
func withVersion(base string) string {
	base = strings.TrimRight(base, "/")
	if at, err := url.Parse(base); err == nil && at.Host != "" && at.Path == "" {
		return base + "/v1"
	}
	return base
}

var modelURL = check{checkModelURL, func(s *schema) { s.Pattern = `^https?://[^/?#@]+(/[^?#]*)?$` }}

// checkModelURL checks without repeating the URL, which may hold a key.
func checkModelURL(s string) (fault, hint string) {
	hint = "https://host/v1, or http://host:11434/v1"
	if fault := webFault(s); fault != "" {
		if strings.Contains(fault, "password") {
			hint = "a key belongs into api_key_env or headers"
		}
		return fault, hint
	}
	switch path := strings.TrimRight(s, "/"); {
	case strings.HasSuffix(path, "/completions"), strings.HasSuffix(path, "/messages"), strings.HasSuffix(path, "/responses"):
		return "the path is that of one call", "end it before the last part: " + hint
	}
	return "", ""
}

// variable does not repeat the text: some write the key itself.
var variable = check{func(s string) (string, string) {
	if !envName().MatchString(s) {
		return "it cannot name a variable", "the name of the variable, not the key: api_key_env: OPENAI_API_KEY"
	}
	return "", ""
}, func(s *schema) { s.Pattern = envName().String() }}

var oneLine = check{func(s string) (string, string) {
	if printable(s) != s {
		return "control characters", "one line of text"
	}
	return "", ""
}, func(*schema) {}}

var headerName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$") })

// headers is a mapping of names to values.
func (r *reader) headers(into *[]EnvVar) part {
	return part{
		read: func(n *node, path string) {
			first := map[string]*node{}
			for _, e := range r.mapping(n, path) {
				name := e.key.text
				value, ok := r.written(e.value, join(path, name))
				if !ok || !r.headerAllowed(e.key, path) || !r.references(e.value, join(path, name), value) {
					continue
				}
				if printable(value) != value {
					r.add(e.value.at, "one line of text", "%s: control characters", join(path, name))
					continue
				}
				if before := first[strings.ToLower(name)]; before != nil {
					r.add(e.key.at, fmt.Sprintf("it is first in line %d; keep one of them", before.at.line), "%s sets %s twice", path, quote(name))
					continue
				}
				first[strings.ToLower(name)] = e.key
				*into = append(*into, EnvVar{Name: name, Value: value})
			}
		},
		shape: func() *schema {
			return orNothing(&schema{Type: kinds{"object"}, PropertyNames: &schema{Pattern: headerName().String()}, Additional: &schema{Type: scalars()}})
		},
		write: func() any {
			var m pairs
			for _, v := range *into {
				m = append(m, pair{v.Name, v.Value})
			}
			if m == nil {
				return nil
			}
			return m
		},
	}
}

// hopHeaders belong to the connection and to the form of the body.
var hopHeaders = []string{"connection", "content-length", "content-type", "host", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "accept-encoding"}

func (r *reader) headerAllowed(n *node, path string) bool {
	switch name := strings.ToLower(n.text); {
	case !headerName().MatchString(n.text):
		r.add(n.at, "letters, digits and hyphens", "%s: %s cannot name a header", path, quote(n.text))
	case slices.Contains(hopHeaders, name), strings.HasPrefix(name, "sett-"):
		r.add(n.at, "take it out", "%s: %s is set by Sett", path, quote(n.text))
	default:
		return true
	}
	return false
}

// expressionsPart is a list of regular expressions, each once.
func expressionsPart(r *reader, into *[]string) part {
	return part{
		read: func(n *node, path string) {
			r.readOnce(n, path, into, func(item *node, s string) (string, bool) {
				_, err := regexp.Compile(s)
				switch {
				case err != nil:
					r.add(item.at, `as in \d{4}-\d\d-\d\d; single quotes keep the backslashes`, "%s: %s is no regular expression", path, quote(s))
				case strings.TrimSpace(s) == "":
					r.add(item.at, "take it out", "%s: an empty pattern", path)
				default:
					return s, true
				}
				return "", false
			})
		},
		shape: func() *schema {
			return orNothing(&schema{Type: kinds{"array"}, Unique: true, Items: &schema{Type: scalars(), Pattern: visible}})
		},
		write: func() any {
			if len(*into) == 0 {
				return nil
			}
			return *into
		},
	}
}

// modelPath is the place of a file or folder, without names of this machine.
func modelPath(folder, file string) string {
	if strings.HasPrefix(file, "~/") {
		return path.Clean(file)
	}
	return shownPath(below(folder, file))
}
