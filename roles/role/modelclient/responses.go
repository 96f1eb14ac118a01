package modelclient

import (
	"encoding/json"
	"fmt"
	"slices"
)

// responses is OpenAI's newer API. The provider keeps nothing: each request has the whole
// conversation, with the model's encrypted reasoning as it came.
type responses struct{}

func (responses) path() string { return "/v1/responses" }

func (responses) answer() reading { return &responsesAnswer{} }

func (responses) encode(name string, q Request) ([]byte, error) {
	all := []any{}
	for _, m := range q.Messages {
		all = append(all, items(m)...)
	}
	body := object{
		"model": name, "input": all, "stream": true, "store": false, "include": []string{"reasoning.encrypted_content"},
		"max_output_tokens": q.MaxOutput,
	}
	if q.System != "" {
		body["instructions"] = q.System
	}
	if q.Temperature != nil {
		body["temperature"] = *q.Temperature
	}
	if len(q.Tools) > 0 {
		var tools []object
		for _, t := range q.Tools {
			tools = append(tools, object{"type": "function", "name": t.Name, "description": t.Description, "parameters": t.Schema, "strict": false})
		}
		body["tools"] = tools
	}
	if q.Force != "" {
		body["tool_choice"] = object{"type": "function", "name": q.Force}
	}
	if q.Schema != nil {
		body["text"] = object{"format": object{"type": "json_schema", "name": q.Schema.Name, "strict": true, "schema": q.Schema.JSON}}
	}
	return marshal(body)
}

func items(m Message) (all []any) {
	for _, o := range m.Opaque {
		all = append(all, o)
	}
	for _, r := range m.Results {
		all = append(all, object{"type": "function_call_output", "call_id": r.Call, "output": r.Text})
	}
	role := "user"
	if m.Assistant {
		role = "assistant"
	}
	if m.Text != "" || len(m.Results)+len(m.Calls)+len(m.Opaque) == 0 {
		all = append(all, object{"type": "message", "role": role, "content": m.Text})
	}
	for _, c := range m.Calls {
		all = append(all, object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": c.Arguments})
	}
	return all
}

// responsesAnswer is an answer in items. The last event has all of them; some servers
// leave them out there.
type responsesAnswer struct {
	items []json.RawMessage
	whole responsesWhole
}

type responsesWhole struct {
	Status     string            `json:"status"`
	Output     []json.RawMessage `json:"output"`
	Incomplete struct {
		Reason string `json:"reason"`
	} `json:"incomplete_details"`
	Usage *openUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (a *responsesAnswer) event(data []byte) (last bool, err error) {
	var e struct {
		Type     string          `json:"type"`
		Item     json.RawMessage `json:"item"`
		Response json.RawMessage `json:"response"`
	}
	if err := decode(data, &e); err != nil {
		return true, err
	}
	switch e.Type {
	case "error":
		return true, streamError(data)
	case "response.failed":
		return true, streamError(e.Response)
	case "response.output_item.done":
		a.items = append(a.items, slices.Clone(e.Item))
	case "response.completed", "response.incomplete":
		return true, decode(e.Response, &a.whole)
	}
	return false, nil
}

// complete: the last event alone says how the answer ended.
func (a *responsesAnswer) complete() bool { return false }

// responsesItem has the fields of the items that count.
type responsesItem struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Content   []struct {
		Type    string `json:"type"`
		Text    string `json:"text"`
		Refusal string `json:"refusal"`
	} `json:"content"`
}

func (a *responsesAnswer) done() (Answer, error) {
	all := a.whole.Output
	if len(all) == 0 {
		all = a.items
	}
	out := Answer{Message: Message{Assistant: true}, Stop: StopEnd}
	refused := ""
	for _, raw := range all {
		var item responsesItem
		if err := decode(raw, &item); err != nil {
			return out, err
		}
		switch item.Type {
		case "function_call":
			out.Calls = append(out.Calls, Call{ID: item.CallID, Name: item.Name, Arguments: item.Arguments})
			out.Stop = StopCalls
		case "reasoning":
			out.Opaque = append(out.Opaque, raw)
		}
		for _, c := range item.Content {
			if item.Type == "message" {
				out.Text += c.Text
				refused += c.Refusal
			}
		}
	}
	switch reason := a.whole.Incomplete.Reason; {
	case refused != "":
		out.Text, out.Stop = refused, StopRefusal
	case reason == "content_filter":
		out.Stop = StopFilter
	case reason == "max_output_tokens":
		out.Stop = StopLength
	case reason != "":
		return out, cut{fmt.Errorf("the model's provider ended the answer (%s)", reason)}
	}
	if a.whole.Usage != nil {
		out.Usage = a.whole.Usage.usage()
	}
	return out, nil
}
