package modelclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"sett/contract/model"
)

// chat is the API of chat completions.
type chat struct{}

func (chat) path() string { return "/v1/chat/completions" }

func (chat) answer() reading { return &chatAnswer{} }

type object = map[string]any

func (chat) encode(name string, q Request) ([]byte, error) {
	var all []object
	if q.System != "" {
		all = append(all, object{"role": "system", "content": q.System})
	}
	for _, m := range q.Messages {
		if m.Assistant {
			all = append(all, chatTurn(m))
			continue
		}
		for _, r := range m.Results {
			all = append(all, object{"role": "tool", "tool_call_id": r.Call, "content": r.Text})
		}
		if m.Text != "" || len(m.Results) == 0 {
			all = append(all, object{"role": "user", "content": m.Text})
		}
	}
	body := object{
		"model": name, "messages": all, "stream": true, "stream_options": object{"include_usage": true}, "max_completion_tokens": q.MaxOutput,
	}
	if q.Temperature != nil {
		body["temperature"] = *q.Temperature
	}
	if len(q.Tools) > 0 {
		var tools []object
		for _, t := range q.Tools {
			tools = append(tools, object{"type": "function", "function": object{"name": t.Name, "description": t.Description, "parameters": t.Schema}})
		}
		body["tools"] = tools
	}
	if q.Force != "" {
		body["tool_choice"] = object{"type": "function", "function": object{"name": q.Force}}
	}
	if q.Schema != nil {
		body["response_format"] = object{"type": "json_schema", "json_schema": object{"name": q.Schema.Name, "strict": true, "schema": q.Schema.JSON}}
	}
	return marshal(body)
}

func chatTurn(m Message) object {
	turn := object{"role": "assistant"}
	if m.Text != "" || len(m.Calls) == 0 {
		turn["content"] = m.Text
	}
	var calls []object
	for _, c := range m.Calls {
		calls = append(calls, object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		turn["tool_calls"] = calls
	}
	return turn
}

// marshal writes JSON with the keys in order, so that equal requests have equal bytes, and
// without escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// chatAnswer is an answer in chunks.
type chatAnswer struct {
	text, refusal strings.Builder
	calls         pieces
	finish        string
	usage         *model.Usage
}

// chatChunk is one event of the stream.
type chatChunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   string `json:"content"`
			Refusal   string `json:"refusal"`
			ToolCalls []struct {
				Index    int    `json:"index"`
				ID       string `json:"id"`
				Function struct {
					Name      string `json:"name"`
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *openUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (a *chatAnswer) event(data []byte) (last bool, err error) {
	if string(data) == "[DONE]" {
		if a.finish == "" {
			return true, fmt.Errorf("%w: it has no finish_reason", ErrCut)
		}
		return true, nil
	}
	var c chatChunk
	if err := decode(data, &c); err != nil {
		return true, err
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return true, streamError(data)
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue
		}
		a.text.WriteString(choice.Delta.Content)
		a.refusal.WriteString(choice.Delta.Refusal)
		for _, t := range choice.Delta.ToolCalls {
			a.calls.add(t.Index, t.ID, t.Function.Name, t.Function.Arguments)
		}
		a.finish = cmp.Or(choice.FinishReason, a.finish)
	}
	if c.Usage != nil {
		a.usage = c.Usage.usage()
	}
	return false, nil
}

func (a *chatAnswer) done() (Answer, error) {
	m := Message{Assistant: true, Text: a.text.String(), Calls: a.calls.list()}
	stop := StopEnd
	switch {
	case a.refusal.Len() > 0 || a.finish == "content_filter":
		m.Text, stop = cmp.Or(a.refusal.String(), m.Text), StopRefusal
	case a.finish == "length":
		stop = StopLength
	case len(m.Calls) > 0:
		stop = StopCalls
	}
	return Answer{Message: m, Stop: stop, Usage: a.usage}, nil
}

// openUsage counts as chat completions and responses do: cached tokens are part of the
// prompt's.
type openUsage struct {
	Prompt, Completion int64
	Details            struct {
		Cached     int64 `json:"cached_tokens"`
		CacheWrite int64 `json:"cache_write_tokens"`
	}
	Reasoning int64
}

// UnmarshalJSON reads the names of both APIs.
func (u *openUsage) UnmarshalJSON(data []byte) error {
	type details = struct {
		Cached     model.Count `json:"cached_tokens"`
		CacheWrite model.Count `json:"cache_write_tokens"`
		Reasoning  model.Count `json:"reasoning_tokens"`
	}
	var v struct {
		Prompt            model.Count `json:"prompt_tokens"`
		Completion        model.Count `json:"completion_tokens"`
		Input             model.Count `json:"input_tokens"`
		Output            model.Count `json:"output_tokens"`
		PromptDetails     details     `json:"prompt_tokens_details"`
		CompletionDetails details     `json:"completion_tokens_details"`
		InputDetails      details     `json:"input_tokens_details"`
		OutputDetails     details     `json:"output_tokens_details"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	u.Prompt, u.Completion = v.Prompt.Tokens+v.Input.Tokens, v.Completion.Tokens+v.Output.Tokens
	u.Details.Cached = v.PromptDetails.Cached.Tokens + v.InputDetails.Cached.Tokens
	u.Details.CacheWrite = v.PromptDetails.CacheWrite.Tokens + v.InputDetails.CacheWrite.Tokens
	u.Reasoning = v.CompletionDetails.Reasoning.Tokens + v.OutputDetails.Reasoning.Tokens
	return nil
}

func (u *openUsage) usage() *model.Usage {
	return &model.Usage{
		Input: max(0, u.Prompt-u.Details.Cached-u.Details.CacheWrite), Cached: u.Details.Cached, CacheWrite: u.Details.CacheWrite,
		Output: u.Completion, Reasoning: u.Reasoning,
	}
}

// pieces puts calls together that come in pieces, by their index.
type pieces map[int]*callPieces

type callPieces struct {
	id, name  string
	arguments strings.Builder
}

func (p *pieces) add(index int, id, name, arguments string) {
	if *p == nil {
		*p = pieces{}
	}
	c := (*p)[index]
	if c == nil {
		c = &callPieces{}
		(*p)[index] = c
	}
	c.id, c.name = cmp.Or(c.id, id), cmp.Or(c.name, name)
	c.arguments.WriteString(arguments)
}

func (p pieces) list() (calls []Call) {
	var order []int
	for i := range p {
		order = append(order, i)
	}
	slices.Sort(order)
	for _, i := range order {
		calls = append(calls, Call{p[i].id, p[i].name, p[i].arguments.String()})
	}
	return calls
}
