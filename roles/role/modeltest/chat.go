package modeltest

// created is the time of every answer.
const created = 1767225600

// chatUsage counts as the API does: cached tokens are part of the prompt's.
func (a *answer) chatUsage() obj {
	u := a.step.Usage
	in := u.Input + u.Cached + u.CacheWrite
	return obj{
		"prompt_tokens": in, "completion_tokens": u.Output, "total_tokens": in + u.Output,
		"prompt_tokens_details":     obj{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite},
		"completion_tokens_details": obj{"reasoning_tokens": u.Reasoning},
	}
}

func (a *answer) chatEnd() string {
	switch {
	case a.step.Length:
		return "length"
	case len(a.step.Calls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// orNil is null for an empty text.
func orNil(text string) any {
	if text == "" {
		return nil
	}
	return text
}

func (a *answer) chat() obj {
	message := obj{"role": "assistant", "content": orNil(a.step.Text), "refusal": orNil(a.step.Refusal)}
	var calls []obj
	for _, c := range a.step.Calls {
		calls = append(calls, obj{"id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": c.Arguments}})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	v := obj{
		"id": "chatcmpl-1", "object": "chat.completion", "created": created, "model": a.q.Model,
		"choices": []obj{{"index": 0, "message": message, "logprobs": nil, "finish_reason": a.chatEnd()}},
	}
	if !a.step.NoUsage {
		v["usage"] = a.chatUsage()
	}
	return v
}

func (a *answer) chatStream() {
	a.startStream()
	wants := wantsUsage(a.q) && !a.step.NoUsage
	chunk := func(choices []obj, usage any) {
		v := obj{"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": created, "model": a.q.Model, "choices": choices}
		if wants {
			v["usage"] = usage
		}
		a.event("", v)
	}
	delta := func(d obj, end any) {
		chunk([]obj{{"index": 0, "delta": d, "logprobs": nil, "finish_reason": end}}, nil)
	}
	delta(obj{"role": "assistant", "content": "", "refusal": nil}, nil)
	if !a.text(func(piece string) { delta(obj{"content": piece}, nil) }) {
		return
	}
	if a.step.Refusal != "" {
		delta(obj{"refusal": a.step.Refusal}, nil)
	}
	for i, c := range a.step.Calls {
		delta(obj{"tool_calls": []obj{{"index": i, "id": c.ID, "type": "function", "function": obj{"name": c.Name, "arguments": ""}}}}, nil)
		for _, piece := range a.chunks(c.Arguments) {
			delta(obj{"tool_calls": []obj{{"index": i, "function": obj{"arguments": piece}}}}, nil)
		}
	}
	delta(obj{}, a.chatEnd())
	if wants {
		chunk([]obj{}, a.chatUsage())
	}
	_, _ = a.w.Write([]byte("data: [DONE]\n\n"))
	a.flush()
}

// wantsUsage says whether a streamed chat asks for its usage.
func wantsUsage(q *Request) bool {
	var o struct {
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	return decode(q.Body, &o) && o.StreamOptions.IncludeUsage
}
