package gateway

import (
	"bytes"
	"encoding/json"

	"sett/contract/model"
)

// counted is the usage of an answer, as far as its provider said it.
type counted struct {
	model.Usage
	input  bool // the counts of the input are known
	output bool // that of the output is
}

// wireUsage has the fields of all three APIs; no two APIs mean different things by one.
type wireUsage struct {
	PromptTokens        *int64 `json:"prompt_tokens"`
	CompletionTokens    *int64 `json:"completion_tokens"`
	PromptTokensDetails *struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionTokensDetails *struct {
		Reasoning int64 `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
	PromptCacheHit int64 `json:"prompt_cache_hit_tokens"` // of some servers

	InputTokens        *int64 `json:"input_tokens"`
	OutputTokens       *int64 `json:"output_tokens"`
	InputTokensDetails *struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	OutputTokensDetails *struct {
		Reasoning int64 `json:"reasoning_tokens"`
		Thinking  int64 `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
	CacheRead     *int64 `json:"cache_read_input_tokens"`
	CacheCreation *int64 `json:"cache_creation_input_tokens"`
}

// read takes in a usage that the provider wrote. A later one counts more than those
// before.
func (c *counted) read(api model.API, text []byte) {
	var w wireUsage
	if json.Unmarshal(text, &w) != nil {
		return
	}
	switch api {
	case model.Chat:
		cached, write := w.PromptCacheHit, int64(0)
		if d := w.PromptTokensDetails; d != nil {
			cached, write = max(d.Cached, cached), d.CacheWrite
		}
		c.whole(w.PromptTokens, cached, write)
		c.out(w.CompletionTokens)
		if d := w.CompletionTokensDetails; d != nil {
			c.Reasoning = d.Reasoning
		}
	case model.Responses:
		cached, write := int64(0), int64(0)
		if d := w.InputTokensDetails; d != nil {
			cached, write = d.Cached, d.CacheWrite
		}
		c.whole(w.InputTokens, cached, write)
		c.out(w.OutputTokens)
	default:
		c.parts(w)
		c.out(w.OutputTokens)
	}
	if d := w.OutputTokensDetails; d != nil {
		c.Reasoning = max(d.Reasoning, d.Thinking)
	}
	c.Reasoning = min(max(c.Reasoning, 0), c.Output)
}

// whole takes in an input that has its cached tokens in it.
func (c *counted) whole(all *int64, cached, write int64) {
	if all == nil || *all < 0 {
		return
	}
	c.Cached = min(max(cached, 0), *all)
	c.CacheWrite = min(max(write, 0), *all-c.Cached)
	c.Input, c.input = *all-c.Cached-c.CacheWrite, true
}

// parts takes in an input without its cached tokens, as messages counts.
func (c *counted) parts(w wireUsage) {
	set := func(into *int64, n *int64) {
		if n != nil && *n >= *into {
			*into, c.input = *n, true
		}
	}
	set(&c.Input, w.InputTokens)
	set(&c.Cached, w.CacheRead)
	set(&c.CacheWrite, w.CacheCreation)
}

func (c *counted) out(n *int64) {
	if n != nil && *n >= 0 {
		c.Output, c.output = *n, true
	}
}

// event takes in the usage of an event of a stream. It says whether the event holds
// nothing but the usage of a chat, and whether it is the last of its stream.
func (c *counted) event(api model.API, data []byte) (only, last bool) {
	if api == model.Chat && string(data) == "[DONE]" {
		return false, true
	}
	hasUsage := bytes.Contains(data, []byte(`"usage"`))
	if !hasUsage && api == model.Chat {
		return false, false
	}
	if !hasUsage && !bytes.Contains(data, []byte(`"message_stop"`)) && !bytes.Contains(data, []byte(`"response.`)) {
		return false, false
	}
	at, err := fields(data, "type", "usage", "message", "response", "choices")
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

// inner takes in the usage of the object that an event carries.
func (c *counted) inner(api model.API, object []byte) {
	if len(object) == 0 {
		return
	}
	if at, err := fields(object, "usage"); err == nil {
		c.read(api, part(object, at, "usage"))
	}
}

func part(text []byte, at map[string]span, name string) []byte {
	v, ok := at[name]
	if !ok {
		return nil
	}
	return v.in(text)
}
