package modelclient

import (
	"bytes"
	"cmp"
	"encoding/json"

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
		"model": name, "messages": all, "stream": true, "stream_options": object{"include_usage": true}, cmp.Or(q.limitBy, model.MaxTokens): q.MaxOutput,
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
	for _, o := range m.Opaque {
		_ = json.Unmarshal(o, &turn) // it is an object of chatAnswer's making
	}
	var calls []object
	for _, c := range m.Calls {
		call := object{"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": c.Arguments}}
		for name, value := range c.Extra {
			call[name] = value
		}
		calls = append(calls, call)
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
