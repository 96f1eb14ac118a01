package modeltest

import "encoding/json"

// messagesUsage counts as the API does: cached tokens are not part of the input's.
func (a *answer) messagesUsage(output int64) obj {
	u := a.step.Usage
	return obj{
		"input_tokens": u.Input, "cache_read_input_tokens": u.Cached, "cache_creation_input_tokens": u.CacheWrite, "output_tokens": output,
		"cache_creation": obj{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": 0}, "service_tier": "standard",
	}
}

func (a *answer) messagesEnd() string {
	switch {
	case a.step.Refusal != "":
		return "refusal"
	case a.step.Length:
		return "max_tokens"
	case len(a.step.Calls) > 0:
		return "tool_use"
	}
	return "end_turn"
}

func (a *answer) messages() obj {
	content := []obj{}
	if text := a.step.Text + a.step.Refusal; text != "" {
		content = append(content, obj{"type": "text", "text": text})
	}
	for _, c := range a.step.Calls {
		var input any
		if json.Unmarshal([]byte(c.Arguments), &input) != nil {
			input = c.Arguments
		}
		content = append(content, obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": input})
	}
	v := obj{"id": "msg_1", "type": "message", "role": "assistant", "model": a.q.Model, "content": content, "stop_reason": a.messagesEnd(), "stop_sequence": nil}
	if !a.step.NoUsage {
		v["usage"] = a.messagesUsage(a.step.Usage.Output)
	}
	return v
}

func (a *answer) messagesStream() {
	a.startStream()
	event := func(name string, v obj) {
		v["type"] = name
		a.event(name, v)
	}
	start := obj{"id": "msg_1", "type": "message", "role": "assistant", "model": a.q.Model, "content": []obj{}, "stop_reason": nil, "stop_sequence": nil}
	if !a.step.NoUsage {
		start["usage"] = a.messagesUsage(1)
	}
	event("message_start", obj{"message": start})
	index := 0
	block := func(kind obj, fill func(delta func(obj)) bool) bool {
		event("content_block_start", obj{"index": index, "content_block": kind})
		if index == 0 {
			event("ping", obj{})
		}
		if !fill(func(d obj) { event("content_block_delta", obj{"index": index, "delta": d}) }) {
			return false
		}
		event("content_block_stop", obj{"index": index})
		index++
		return true
	}
	a.step.Text += a.step.Refusal
	if a.step.Text != "" && !block(obj{"type": "text", "text": ""}, func(delta func(obj)) bool {
		return a.text(func(piece string) { delta(obj{"type": "text_delta", "text": piece}) })
	}) {
		return
	}
	for _, c := range a.step.Calls {
		block(obj{"type": "tool_use", "id": c.ID, "name": c.Name, "input": obj{}}, func(delta func(obj)) bool {
			for _, piece := range a.chunks(c.Arguments) {
				delta(obj{"type": "input_json_delta", "partial_json": piece})
			}
			return true
		})
	}
	last := obj{"delta": obj{"stop_reason": a.messagesEnd(), "stop_sequence": nil}}
	if !a.step.NoUsage {
		last["usage"] = obj{"output_tokens": a.step.Usage.Output}
	} else {
		last["usage"] = obj{}
	}
	event("message_delta", last)
	event("message_stop", obj{})
}

func decode(b []byte, into any) bool { return json.Unmarshal(b, into) == nil }
