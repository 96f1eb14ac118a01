package modeltest

import (
	"fmt"
	"maps"
)

// responsesUsage counts as the API does: cached tokens are part of the input's.
func (a *answer) responsesUsage() obj {
	u := a.step.Usage
	in := u.Input + u.Cached + u.CacheWrite
	return obj{
		"input_tokens": in, "input_tokens_details": obj{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
		"output_tokens": u.Output, "output_tokens_details": obj{"reasoning_tokens": u.Reasoning}, "total_tokens": in + u.Output,
	}
}

// response is the object of an answer in a state.
func (a *answer) response(status string, output []obj) obj {
	v := obj{
		"id": "resp_1", "object": "response", "created_at": created, "status": status, "error": nil, "incomplete_details": nil, "instructions": nil,
		"max_output_tokens": nil, "metadata": obj{}, "model": a.q.Model, "output": output, "parallel_tool_calls": true, "previous_response_id": nil,
		"reasoning": obj{"effort": nil, "summary": nil}, "store": false, "temperature": 1.0, "text": obj{"format": obj{"type": "text"}},
		"tool_choice": "auto", "tools": []obj{}, "top_p": 1.0, "truncation": "disabled", "usage": nil, "user": nil,
	}
	if status == "incomplete" {
		v["incomplete_details"] = obj{"reason": "max_output_tokens"}
	}
	if status != "in_progress" && !a.step.NoUsage {
		v["usage"] = a.responsesUsage()
	}
	return v
}

func (a *answer) responsesEnd() string {
	if a.step.Length {
		return "incomplete"
	}
	return "completed"
}

// part is the content of the message; empty: there is none.
func (a *answer) part() obj {
	switch {
	case a.step.Refusal != "":
		return obj{"type": "refusal", "refusal": a.step.Refusal}
	case a.step.Text != "":
		return obj{"type": "output_text", "text": a.step.Text, "annotations": []obj{}, "logprobs": []obj{}}
	}
	return nil
}

func messageItem(status string, content ...obj) obj {
	if content == nil {
		content = []obj{}
	}
	return obj{"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": content}
}

func callItem(i int, c Call, status, arguments string) obj {
	return obj{"id": fmt.Sprintf("fc_%d", i+1), "type": "function_call", "status": status, "call_id": c.ID, "name": c.Name, "arguments": arguments}
}

func (a *answer) output() []obj {
	all := []obj{}
	if part := a.part(); part != nil {
		all = append(all, messageItem(a.responsesEnd(), part))
	}
	for i, c := range a.step.Calls {
		all = append(all, callItem(i, c, "completed", c.Arguments))
	}
	return all
}

func (a *answer) responses() obj { return a.response(a.responsesEnd(), a.output()) }

// numbered writes an event of this API, which has a number.
func (a *answer) numbered(name string, v obj) {
	v["type"], v["sequence_number"] = name, a.number
	a.number++
	a.event(name, v)
}

func (a *answer) responsesStream() {
	a.startStream()
	a.numbered("response.created", obj{"response": a.response("in_progress", []obj{})})
	a.numbered("response.in_progress", obj{"response": a.response("in_progress", []obj{})})
	index := 0
	if part := a.part(); part != nil {
		if !a.streamMessage(part) {
			return
		}
		index++
	}
	for i, c := range a.step.Calls {
		at := obj{"output_index": index, "item_id": fmt.Sprintf("fc_%d", i+1)}
		a.numbered("response.output_item.added", obj{"output_index": index, "item": callItem(i, c, "in_progress", "")})
		for _, piece := range a.chunks(c.Arguments) {
			a.numbered("response.function_call_arguments.delta", with(at, "delta", piece))
		}
		a.numbered("response.function_call_arguments.done", with(with(at, "arguments", c.Arguments), "name", c.Name))
		a.numbered("response.output_item.done", obj{"output_index": index, "item": callItem(i, c, "completed", c.Arguments)})
		index++
	}
	a.numbered("response."+a.responsesEnd(), obj{"response": a.responses()})
}

// streamMessage writes the events of the message. It returns false when the stream is
// over.
func (a *answer) streamMessage(part obj) bool {
	at := obj{"output_index": 0, "item_id": "msg_1", "content_index": 0}
	kind, field := "output_text", "text"
	empty := obj{"type": "output_text", "text": "", "annotations": []obj{}, "logprobs": []obj{}}
	if a.step.Refusal != "" {
		kind, field, empty = "refusal", "refusal", obj{"type": "refusal", "refusal": ""}
		a.step.Text = a.step.Refusal
	}
	a.numbered("response.output_item.added", obj{"output_index": 0, "item": messageItem("in_progress")})
	a.numbered("response.content_part.added", with(at, "part", empty))
	if !a.text(func(piece string) {
		a.numbered("response."+kind+".delta", with(with(at, "delta", piece), "logprobs", []obj{}))
	}) {
		return false
	}
	a.numbered("response."+kind+".done", with(with(at, field, a.step.Text), "logprobs", []obj{}))
	a.numbered("response.content_part.done", with(at, "part", part))
	a.numbered("response.output_item.done", obj{"output_index": 0, "item": messageItem(a.responsesEnd(), part)})
	return true
}

// with is the object with one field more.
func with(o obj, name string, value any) obj {
	o = maps.Clone(o)
	o[name] = value
	return o
}
