package gateway

import (
	"bytes"
	"encoding/json"
	"errors"

	"sett/contract/model"
)

// counted is the usage of an answer, as far as its provider said it.
type counted struct {
	model.Usage
	input  bool // the counts of the input are known
	output bool // that of the output is

	stopped bool // the model gave the reason for which it stopped

	model string // that answered, as the provider names it; empty: it did not say
}

// mostName bounds the name of a model, in bytes.
const mostName = 200

// from takes in the name of the model that answered.
func (c *counted) from(text []byte) {
	var name string
	if json.Unmarshal(text, &name) == nil && name != "" && len(name) <= mostName {
		c.model = name
	}
}

// wireUsage has the fields of all three APIs; no two APIs mean different things by one.
type wireUsage struct {
	PromptTokens        model.Count `json:"prompt_tokens"`
	CompletionTokens    model.Count `json:"completion_tokens"`
	PromptTokensDetails struct {
		Cached     model.Count `json:"cached_tokens"`
		CacheWrite model.Count `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails struct {
		Reasoning model.Count `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptCacheHit model.Count `json:"prompt_cache_hit_tokens"` // of some servers

	InputTokens        model.Count `json:"input_tokens"`
	OutputTokens       model.Count `json:"output_tokens"`
	InputTokensDetails struct {
		Cached     model.Count `json:"cached_tokens"`
		CacheWrite model.Count `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails struct {
		Reasoning model.Count `json:"reasoning_tokens"`
		Thinking  model.Count `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	CacheRead     model.Count `json:"cache_read_input_tokens"`
	CacheCreation model.Count `json:"cache_creation_input_tokens"`
}

// read takes in a usage that the provider wrote. A later one counts more than those
// before.
func (c *counted) read(api model.API, text []byte) {
	var w wireUsage
	var odd *json.UnmarshalTypeError // in one field; the others are read
	if err := json.Unmarshal(text, &w); err != nil && !errors.As(err, &odd) {
		return
	}
	reasoning := max(w.OutputTokensDetails.Reasoning.Tokens, w.OutputTokensDetails.Thinking.Tokens)
	switch api {
	case model.Chat:
		d := w.PromptTokensDetails
		c.whole(w.PromptTokens, max(d.Cached.Tokens, w.PromptCacheHit.Tokens), d.CacheWrite.Tokens)
		c.out(w.CompletionTokens)
		reasoning = max(reasoning, w.CompletionTokensDetails.Reasoning.Tokens)
	case model.Responses:
		c.whole(w.InputTokens, w.InputTokensDetails.Cached.Tokens, w.InputTokensDetails.CacheWrite.Tokens)
		c.out(w.OutputTokens)
	default:
		c.parts(w)
		c.out(w.OutputTokens)
	}
	c.Reasoning = min(max(c.Reasoning, reasoning), c.Output)
}

// whole takes in an input that has its cached tokens in it.
func (c *counted) whole(all model.Count, cached, write int64) {
	if !all.Known {
		return
	}
	c.Cached = min(cached, all.Tokens)
	c.CacheWrite = min(write, all.Tokens-c.Cached)
	c.Input, c.input = all.Tokens-c.Cached-c.CacheWrite, true
}

// parts takes in an input without its cached tokens, as messages counts.
func (c *counted) parts(w wireUsage) {
	set := func(into *int64, n model.Count) {
		if n.Known && n.Tokens >= *into {
			*into, c.input = n.Tokens, true
		}
	}
	set(&c.Input, w.InputTokens)
	set(&c.Cached, w.CacheRead)
	set(&c.CacheWrite, w.CacheCreation)
}

func (c *counted) out(n model.Count) {
	if n.Known {
		c.Output, c.output = n.Tokens, true
	}
}

// event takes in the usage of an event of a stream. It says whether the event holds
// nothing but the usage of a chat, and whether it is the last of its stream.
func (c *counted) event(api model.API, data []byte) (only, last bool) {
	if api == model.Chat && string(data) == "[DONE]" {
		return false, true
	}
	c.stopped = c.stopped || saysStop(api, data)
	hasUsage := bytes.Contains(data, []byte(`"usage"`))
	if !hasUsage && api == model.Chat {
		return false, false
	}
	if !hasUsage && !bytes.Contains(data, []byte(`"message_stop"`)) && !bytes.Contains(data, []byte(`"response.`)) {
		return false, false
	}
	at, err := fields(data, "type", "usage", "message", "response", "choices", "model")
	if err != nil {
		return false, false
	}
	kind := string(bytes.Trim(part(data, at, "type"), `"`))
	switch api {
	case model.Chat:
		usage := part(data, at, "usage")
		if len(usage) == 0 || usage[0] != '{' {
			return false, false
		}
		c.read(api, usage)
		c.from(part(data, at, "model"))
		choices := bytes.TrimSpace(bytes.Trim(part(data, at, "choices"), "[]"))
		return len(choices) == 0, false
	case model.Messages:
		c.read(api, part(data, at, "usage"))
		c.inner(api, part(data, at, "message"))
		if kind == "message_start" {
			c.output = false // it is that of the first token
		}
		return false, kind == "message_stop"
	}
	switch kind {
	case "response.completed", "response.incomplete", "response.failed":
		c.inner(api, part(data, at, "response"))
		return false, true
	}
	return false, false
}

// saysStop says whether an event of a chat or of messages gives the reason for which the model stopped: all of its answer has
// come then, and some servers leave out the last event.
func saysStop(api model.API, data []byte) bool {
	name := map[model.API]string{model.Chat: `"finish_reason"`, model.Messages: `"stop_reason"`}[api]
	at := bytes.Index(data, []byte(name))
	if name == "" || at < 0 {
		return false
	}
	at = space(data, at+len(name))
	if at >= len(data) || data[at] != ':' {
		return false
	}
	at = space(data, at+1)
	return at+1 < len(data) && data[at] == '"' && data[at+1] != '"'
}

// inner takes in the usage and the model of the object that an event carries.
func (c *counted) inner(api model.API, object []byte) {
	if len(object) == 0 {
		return
	}
	if at, err := fields(object, "usage", "model"); err == nil {
		c.read(api, part(object, at, "usage"))
		c.from(part(object, at, "model"))
	}
}

func part(text []byte, at map[string]span, name string) []byte {
	v, ok := at[name]
	if !ok {
		return nil
	}
	return v.in(text)
}
