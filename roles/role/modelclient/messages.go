package modelclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"sett/contract/model"
)

// messages is Anthropic's API.
type messages struct{}

func (messages) path() string { return "/v1/messages" }

func (messages) answer() reading { return &messagesAnswer{} }

func (messages) encode(name string, q Request) ([]byte, error) {
	var all []object
	for _, m := range q.Messages {
		role := "user"
		if m.Assistant {
			role = "assistant"
		}
		all = append(all, object{"role": role, "content": blocks(m)})
	}
	if last := len(all) - 1; last >= 0 { // everything up to here may come from the provider's cache next time
		content := all[last]["content"].([]any)
		if block, ok := content[len(content)-1].(object); ok {
			block["cache_control"] = object{"type": "ephemeral"}
		}
	}
	body := object{"model": name, "messages": all, "stream": true, "max_tokens": q.MaxOutput}
	if q.System != "" {
		body["system"] = q.System
	}
	if q.Temperature != nil {
		body["temperature"] = *q.Temperature
	}
	if len(q.Tools) > 0 {
		var tools []object
		for _, t := range q.Tools {
			tools = append(tools, object{"name": t.Name, "description": t.Description, "input_schema": t.Schema})
		}
		body["tools"] = tools
	}
	if q.Force != "" {
		body["tool_choice"] = object{"type": "tool", "name": q.Force}
	}
	if q.Schema != nil {
		body["output_config"] = object{"format": object{"type": "json_schema", "schema": q.Schema.JSON}}
	}
	return marshal(body)
}

// blocks are the content of a message. Empty texts are refused by the API.
func blocks(m Message) []any {
	var all []any
	for _, o := range m.Opaque {
		all = append(all, o)
	}
	for _, r := range m.Results {
		b := object{"type": "tool_result", "tool_use_id": r.Call, "content": r.Text}
		if r.Failed {
			b["is_error"] = true
		}
		all = append(all, b)
	}
	if strings.TrimSpace(m.Text) != "" {
		all = append(all, object{"type": "text", "text": m.Text})
	}
	for _, c := range m.Calls {
		all = append(all, object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": asObject(c.Arguments)})
	}
	if len(all) == 0 {
		all = append(all, object{"type": "text", "text": "(no text)"})
	}
	return all
}

// asObject is the arguments of a call as the API wants them back. The API has no place
// for those that are no object.
func asObject(arguments string) json.RawMessage {
	text := bytes.TrimSpace([]byte(arguments))
	if len(text) > 0 && text[0] == '{' && json.Valid(text) {
		return text
	}
	b, _ := json.Marshal(object{"not_json": arguments}) // a string always can
	return b
}

// messagesAnswer is an answer in blocks.
type messagesAnswer struct {
	blocks []*messagesBlock
	stop   string
	reason string // of a refusal
	usage  *messagesUsage
}

type messagesBlock struct {
	index          int
	kind, id, name string
	text           strings.Builder
	input          strings.Builder
	thinking       strings.Builder
	signature      string
	start          json.RawMessage
}

type messagesUsage struct {
	Input      model.Count `json:"input_tokens"`
	Cached     model.Count `json:"cache_read_input_tokens"`
	CacheWrite model.Count `json:"cache_creation_input_tokens"`
	Output     model.Count `json:"output_tokens"`
	Details    detail      `json:"output_tokens_details"`
}

type detail struct {
	Thinking model.Count `json:"thinking_tokens"`
}

// messagesEvent has the fields of all events.
type messagesEvent struct {
	Type    string `json:"type"`
	Index   int    `json:"index"`
	Message struct {
		Usage *messagesUsage `json:"usage"`
	} `json:"message"`
	Block json.RawMessage `json:"content_block"`
	Delta struct {
		Type       string `json:"type"`
		Text       string `json:"text"`
		JSON       string `json:"partial_json"`
		Thinking   string `json:"thinking"`
		Signature  string `json:"signature"`
		StopReason string `json:"stop_reason"`
		Details    struct {
			Explanation string `json:"explanation"`
		} `json:"stop_details"`
	} `json:"delta"`
	Usage *messagesUsage `json:"usage"`
}

func (a *messagesAnswer) event(data []byte) (last bool, err error) {
	var e messagesEvent
	if err := decode(data, &e); err != nil {
		return true, err
	}
	switch e.Type {
	case "error":
		return true, streamError(data)
	case "message_start":
		a.usage = e.Message.Usage
	case "content_block_start":
		return false, a.begin(e)
	case "content_block_delta":
		a.extend(e)
	case "message_delta":
		if e.Delta.StopReason != "" {
			a.stop, a.reason = e.Delta.StopReason, e.Delta.Details.Explanation
		}
		a.count(e.Usage)
	case "message_stop":
		return true, nil
	}
	return false, nil
}

// count takes the counts of the end, which are sums; a server may repeat only some.
func (a *messagesAnswer) count(u *messagesUsage) {
	if u == nil {
		return
	}
	if a.usage == nil {
		a.usage = &messagesUsage{}
	}
	for _, c := range []struct {
		to   *model.Count
		from model.Count
	}{
		{&a.usage.Input, u.Input}, {&a.usage.Cached, u.Cached}, {&a.usage.CacheWrite, u.CacheWrite}, {&a.usage.Output, u.Output},
		{&a.usage.Details.Thinking, u.Details.Thinking},
	} {
		if c.from.Tokens > 0 {
			*c.to = c.from
		}
	}
}

func (a *messagesAnswer) begin(e messagesEvent) error {
	var b struct {
		Type  string          `json:"type"`
		ID    string          `json:"id"`
		Name  string          `json:"name"`
		Text  string          `json:"text"`
		Input json.RawMessage `json:"input"`
	}
	if err := decode(e.Block, &b); err != nil {
		return err
	}
	block := &messagesBlock{index: e.Index, kind: b.Type, id: b.ID, name: b.Name, start: slices.Clone(e.Block)}
	block.text.WriteString(b.Text)
	if in := string(b.Input); in != "" && in != "{}" && in != "null" { // some servers send it whole
		block.input.WriteString(in)
	}
	a.blocks = append(a.blocks, block)
	return nil
}

func (a *messagesAnswer) extend(e messagesEvent) {
	if len(a.blocks) == 0 {
		return
	}
	b := a.blocks[len(a.blocks)-1] // where a server counts in another way
	for _, one := range a.blocks {
		if one.index == e.Index {
			b = one
		}
	}
	b.text.WriteString(e.Delta.Text)
	b.input.WriteString(e.Delta.JSON)
	b.thinking.WriteString(e.Delta.Thinking)
	b.signature += e.Delta.Signature
}

// complete: after the stop_reason only message_stop is missing.
func (a *messagesAnswer) complete() bool { return a.stop != "" }

// messagesStops by the API's words. A refusal is the work of the provider's classifiers, not the model's own:
// platform.claude.com/docs/en/test-and-evaluate/strengthen-guardrails/handle-streaming-refusals.
var messagesStops = map[string]Stop{
	"end_turn": StopEnd, "stop_sequence": StopEnd, "tool_use": StopCalls, "max_tokens": StopLength, "refusal": StopFilter,
	"pause_turn": StopPause, "model_context_window_exceeded": StopContext,
}

func (a *messagesAnswer) done() (Answer, error) {
	out := Answer{Message: Message{Assistant: true}, Stop: messagesStops[a.stop], Reason: a.reason}
	for _, b := range a.blocks {
		switch b.kind {
		case "text":
			out.Text += b.text.String()
		case "tool_use":
			arguments := b.input.String()
			if arguments == "" {
				arguments = "{}"
			}
			out.Calls = append(out.Calls, Call{ID: b.id, Name: b.name, Arguments: arguments})
		case "thinking":
			raw, err := marshal(object{"type": "thinking", "thinking": b.thinking.String(), "signature": b.signature})
			if err != nil {
				return out, err
			}
			out.Opaque = append(out.Opaque, raw)
		case "redacted_thinking":
			out.Opaque = append(out.Opaque, b.start)
		}
	}
	if a.stop == "" {
		return out, cut{errors.New("the answer ended without a stop_reason")}
	}
	if out.Stop == "" {
		out.Stop = StopEnd
	}
	if out.Stop == StopEnd && len(out.Calls) > 0 {
		out.Stop = StopCalls
	}
	if u := a.usage; u != nil {
		out.Usage = &model.Usage{
			Input: u.Input.Tokens, Cached: u.Cached.Tokens, CacheWrite: u.CacheWrite.Tokens, Output: u.Output.Tokens, Reasoning: u.Details.Thinking.Tokens,
		}
	}
	return out, nil
}
