package modelclient

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/contract/model"
)

// chatAnswer is an answer in chunks.
type chatAnswer struct {
	text, refusal strings.Builder
	calls         pieces
	reasoning     reasoning
	finish        string
	usage         *model.Usage
}

// chatChunk is one event of the stream.
type chatChunk struct {
	Choices []struct {
		Index int `json:"index"`
		Delta struct {
			Content   chatText        `json:"content"`
			Refusal   string          `json:"refusal"`
			Reasoning *loose          `json:"reasoning_content"`
			Details   json.RawMessage `json:"reasoning_details"`
			ToolCalls []chatCall      `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *openUsage      `json:"usage"`
	Error json.RawMessage `json:"error"`
}

func (a *chatAnswer) event(data []byte) (last bool, err error) {
	if string(data) == "[DONE]" {
		if a.finish == "" {
			return true, cut{errors.New("the answer ended without a finish_reason")}
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
		a.text.WriteString(string(choice.Delta.Content))
		a.refusal.WriteString(choice.Delta.Refusal)
		a.reasoning.add(choice.Delta.Reasoning, choice.Delta.Details)
		for _, call := range choice.Delta.ToolCalls {
			a.calls.add(call)
		}
		a.finish = cmp.Or(choice.FinishReason, a.finish)
	}
	if c.Usage != nil {
		a.usage = c.Usage.usage()
	}
	return false, nil
}

func (a *chatAnswer) complete() bool { return a.finish != "" }

// chatStops by the API's words. model_length is Mistral's (docs.mistral.ai/api: finish_reason).
var chatStops = map[string]Stop{"length": StopLength, "model_length": StopContext}

// chatFailures are finish reasons of answers that failed at the provider: Mistral's, DeepSeek's
// (api-docs.deepseek.com/api/create-chat-completion) and vLLM's.
var chatFailures = []string{"error", "insufficient_system_resource", "abort"}

func (a *chatAnswer) done() (Answer, error) {
	if slices.Contains(chatFailures, a.finish) {
		return Answer{}, cut{fmt.Errorf("the model's provider ended the answer (%s)", a.finish)}
	}
	m := Message{Assistant: true, Text: a.text.String(), Calls: a.calls.list()}
	out := Answer{Stop: chatStops[a.finish], Usage: a.usage}
	switch {
	case a.refusal.Len() > 0:
		m.Text, out.Stop = a.refusal.String(), StopRefusal
	case strings.HasPrefix(a.finish, "content_filter"): // Gemini adds the filter's own reason, after a colon
		_, out.Reason, _ = strings.Cut(a.finish, ": ")
		out.Stop = StopFilter
	case out.Stop != "":
	case len(m.Calls) > 0:
		out.Stop = StopCalls
	default:
		out.Stop = StopEnd
	}
	if len(m.Calls) > 0 {
		m.Opaque = a.reasoning.opaque()
	}
	out.Message = m
	return out, nil
}

// chatText is a text, or a list of parts: reasoning models of Mistral answer with parts of the types
// thinking and text (docs.mistral.ai/capabilities/reasoning). Only the text counts.
type chatText string

// UnmarshalJSON reads both.
func (t *chatText) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if data[0] != '[' {
		return json.Unmarshal(data, (*string)(t))
	}
	if err := json.Unmarshal(data, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		if p.Type == "text" {
			*t += chatText(p.Text)
		}
	}
	return nil
}

// loose is a text for which servers also write another value of JSON: an id as a number, or arguments as an
// object. Then it is that JSON. Null is the empty text.
type loose string

// UnmarshalJSON reads any value.
func (l *loose) UnmarshalJSON(data []byte) error {
	if data[0] == '"' || string(data) == "null" {
		return json.Unmarshal(data, (*string)(l))
	}
	*l = loose(data)
	return nil
}

// chatCall is a call, or a piece of one.
type chatCall struct {
	index               int
	id, name, arguments string
	extra               map[string]json.RawMessage
}

// UnmarshalJSON reads the fields of the API, and keeps all others.
func (c *chatCall) UnmarshalJSON(data []byte) error {
	var v struct {
		Index    int   `json:"index"`
		ID       loose `json:"id"`
		Function struct {
			Name      string `json:"name"`
			Arguments loose  `json:"arguments"`
		} `json:"function"`
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	*c = chatCall{index: v.Index, id: string(v.ID), name: v.Function.Name, arguments: string(v.Function.Arguments)}
	_ = json.Unmarshal(data, &c.extra) // it is an object, or null
	for name, value := range c.extra {
		switch name {
		case "index", "id", "type", "function":
			delete(c.extra, name)
		default:
			if string(value) == "null" {
				delete(c.extra, name)
			}
		}
	}
	return nil
}

// pieces are calls that come in pieces.
type pieces []*callPieces

type callPieces struct {
	index     int
	id, name  string
	arguments strings.Builder
	extra     map[string]json.RawMessage
}

func (p *pieces) add(c chatCall) {
	to := p.open(c)
	if to == nil {
		to = &callPieces{index: c.index}
		*p = append(*p, to)
	}
	to.id, to.name = cmp.Or(to.id, c.id), cmp.Or(to.name, c.name)
	to.arguments.WriteString(c.arguments)
	for name, value := range c.extra {
		if to.extra == nil {
			to.extra = map[string]json.RawMessage{}
		}
		to.extra[name] = value
	}
}

// open returns the call that a piece belongs to; nil: it begins one. Gemini and some servers give each call the
// index 0, whole and with an id of its own; others repeat id and name in each piece of a call.
func (p pieces) open(c chatCall) *callPieces {
	for _, one := range slices.Backward(p) {
		if one.index != c.index {
			continue
		}
		if c.name == "" {
			return one
		}
		if c.id != "" && one.id != "" {
			if c.id != one.id {
				return nil
			}
			return one
		}
		whole := json.Valid([]byte(one.arguments.String()))
		if whole && (c.name != one.name || strings.TrimSpace(c.arguments) != "") {
			return nil
		}
		return one
	}
	return nil
}

func (p pieces) list() (calls []Call) {
	slices.SortStableFunc(p, func(a, b *callPieces) int { return a.index - b.index })
	for _, c := range p {
		calls = append(calls, Call{ID: c.id, Name: c.name, Arguments: c.arguments.String(), Extra: c.extra})
	}
	return calls
}

// reasoning is the thinking of a model before it called tools. DeepSeek, Kimi and others refuse a later request without
// reasoning_content, also where it is empty (api-docs.deepseek.com/guides/thinking_mode), and OpenRouter's Gemini
// one without reasoning_details (openrouter.ai/docs/use-cases/reasoning-tokens). Of answers without calls nobody
// wants it, and an older DeepSeek refuses it: so it goes back with calls alone, to the provider that sent it.
type reasoning struct {
	content *strings.Builder
	details []map[string]json.RawMessage
}

func (r *reasoning) add(content *loose, details json.RawMessage) {
	if content != nil {
		if r.content == nil {
			r.content = &strings.Builder{}
		}
		r.content.WriteString(string(*content))
	}
	var more []map[string]json.RawMessage
	if json.Unmarshal(details, &more) != nil {
		return // none, or in another form
	}
	for _, d := range more {
		last := len(r.details) - 1
		if last < 0 || string(r.details[last]["type"]) != string(d["type"]) || string(r.details[last]["index"]) != string(d["index"]) {
			r.details = append(r.details, d)
			continue
		}
		extend(r.details[last], d)
	}
}

// extend adds a piece to a part of the reasoning: texts go on, other fields are those of the last piece.
func extend(part, piece map[string]json.RawMessage) {
	for name, value := range piece {
		switch name {
		case "text", "summary", "data":
			if added := text(value); added != "" {
				part[name], _ = json.Marshal(text(part[name]) + added) // a string always can
			}
		default:
			if string(value) != "null" {
				part[name] = value
			}
		}
	}
}

// opaque is the reasoning as fields of the assistant's message.
func (r *reasoning) opaque() []json.RawMessage {
	fields := object{}
	switch {
	case r.details != nil:
		fields["reasoning_details"] = r.details
	case r.content != nil:
		fields["reasoning_content"] = r.content.String()
	default:
		return nil
	}
	raw, err := marshal(fields)
	if err != nil {
		return nil // of values that JSON cannot hold; there are none here
	}
	return []json.RawMessage{raw}
}
