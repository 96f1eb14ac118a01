package modelclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"sett/contract/model"
	"sett/roles/role/modelclient"
)

// provider answers with streams as they come from real ones, the last one again and again. An answer that begins with
// { or [ is the body of an error 400.
type provider struct {
	mu      sync.Mutex
	answers []string
	asked   []map[string]any
}

func answering(t *testing.T, api model.API, answers ...string) (*modelclient.Client, *provider) {
	p := &provider{answers: answers}
	s := httptest.NewServer(p)
	t.Cleanup(s.Close)
	return &modelclient.Client{API: api, Model: "m", Base: s.URL, HTTP: s.Client(), Header: http.Header{}, Repeats: 2, Pause: time.Millisecond}, p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var q map[string]any
	_ = json.Unmarshal(body, &q)
	p.mu.Lock()
	p.asked = append(p.asked, q)
	text := p.answers[min(len(p.asked), len(p.answers))-1]
	p.mu.Unlock()
	if text[0] == '{' || text[0] == '[' {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
	} else {
		w.Header().Set("Content-Type", "text/event-stream")
	}
	_, _ = io.WriteString(w, text)
}

func (p *provider) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// deltas is a stream of a chat with these deltas, and its end.
func deltas(finish string, all ...string) string {
	var b strings.Builder
	for _, d := range all {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":null}]}\n\n", d)
	}
	fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
	return b.String()
}

// TestCallsOfProviders: calls in the forms of OpenAI, Gemini, Mistral and others.
func TestCallsOfProviders(t *testing.T) {
	t.Parallel()
	two := []modelclient.Call{{ID: "a", Name: "search", Arguments: `{"x":1}`}, {ID: "b", Name: "finish", Arguments: `{"y":2}`}}
	one := two[:1]
	for name, c := range map[string]struct {
		deltas []string
		want   []modelclient.Call
	}{
		"pieces": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"search","arguments":""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":1,"id":"b","function":{"name":"finish","arguments":"{\"y\""}}]}`, `{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"arguments":":2}"}}]}`,
		}, two},
		"index 0 for all": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"x\":1}"}}]}`, `{"tool_calls":[{"index":0,"id":"b","function":{"name":"finish","arguments":"{\"y\":2}"}}]}`,
		}, two},
		"no index": {[]string{`{"tool_calls":[{"id":"a","function":{"name":"search","arguments":"{\"x\":1}"}},{"id":"b","function":{"name":"finish","arguments":"{\"y\":2}"}}]}`}, two},
		"id and name in each piece": {[]string{
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"x\""}}]}`, `{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":""}}]}`,
		}, one},
		"another id in each piece": {[]string{`{"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":"{\"x\""}}]}`, `{"tool_calls":[{"index":0,"id":"z","function":{"arguments":":1}"}}]}`}, one},
		"no id": {[]string{`{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"x\":1}"}}]}`, `{"tool_calls":[{"index":0,"function":{"name":"search","arguments":"{\"x\":2}"}}]}`},
			[]modelclient.Call{{Name: "search", Arguments: `{"x":1}`}, {Name: "search", Arguments: `{"x":2}`}}},
		"an object and a number": {[]string{`{"tool_calls":[{"index":0,"id":17,"function":{"name":"search","arguments":{"x":1}}}]}`}, []modelclient.Call{{ID: "17", Name: "search", Arguments: `{"x":1}`}}},
		"nulls": {[]string{
			`{"content":null,"tool_calls":[{"index":0,"id":"a","function":{"name":"search","arguments":null}}]}`, `{"tool_calls":null}`,
			`{"tool_calls":[{"index":0,"id":null,"extra":null,"function":{"name":null,"arguments":"{\"x\":1}"}}]}`,
		}, one},
	} {
		client, _ := answering(t, model.Chat, deltas("tool_calls", c.deltas...))
		a, err := client.Ask(t.Context(), conversation())
		if err != nil || !reflect.DeepEqual(a.Calls, c.want) || a.Stop != modelclient.StopCalls {
			t.Errorf("%s: got %+v %v\nwant %+v", name, a, err, c.want)
		}
	}
}

// TestFieldsComeBack: the provider gets back the fields of calls, and its reasoning with calls alone.
func TestFieldsComeBack(t *testing.T) {
	t.Parallel()
	const call = `"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"run","arguments":"{}"},"extra_content":{"google":{"thought_signature":"AbC=="}}}]`
	for name, c := range map[string]struct {
		deltas []string
		want   string // of the turn, without role and content
	}{
		"gemini": {[]string{`{` + call + `}`},
			`{"tool_calls":[{"extra_content":{"google":{"thought_signature":"AbC=="}},"function":{"arguments":"{}","name":"run"},"id":"a","type":"function"}]}`},
		"deepseek":          {[]string{`{"reasoning_content":"let "}`, `{"reasoning_content":"me see"}`, `{"reasoning_content":null,"tool_calls":[{"id":"a","function":{"name":"run","arguments":"{}"}}]}`}, `{"reasoning_content":"let me see","tool_calls":[{"function":{"arguments":"{}","name":"run"},"id":"a","type":"function"}]}`},
		"deepseek, empty":   {[]string{`{"reasoning_content":"","tool_calls":[{"id":"a","function":{"name":"run","arguments":"{}"}}]}`}, `{"reasoning_content":"","tool_calls":[{"function":{"arguments":"{}","name":"run"},"id":"a","type":"function"}]}`},
		"deepseek, no call": {[]string{`{"reasoning_content":"let me see"}`, `{"content":"x"}`}, `{}`},
		"openrouter": {[]string{
			`{"reasoning":"ab","reasoning_details":[{"type":"reasoning.text","index":0,"text":"a","signature":null}]}`, `{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"b","signature":"S"},{"type":"reasoning.encrypted","index":1,"data":"X"}]}`,
			`{"tool_calls":[{"id":"a","function":{"name":"run","arguments":"{}"}}]}`,
		}, `{"reasoning_details":[{"index":0,"signature":"S","text":"ab","type":"reasoning.text"},{"data":"X","index":1,"type":"reasoning.encrypted"}],"tool_calls":[{"function":{"arguments":"{}","name":"run"},"id":"a","type":"function"}]}`},
		"plain": {[]string{`{"tool_calls":[{"id":"a","function":{"name":"run","arguments":"{}"}}]}`}, `{"tool_calls":[{"function":{"arguments":"{}","name":"run"},"id":"a","type":"function"}]}`},
	} {
		client, p := answering(t, model.Chat, deltas("tool_calls", c.deltas...))
		q := conversation()
		a, err := client.Ask(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		q.Messages = append(q.Messages, a.Message, modelclient.Message{Text: "Go on."})
		if _, err := client.Ask(t.Context(), q); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		all := p.asked[1]["messages"].([]any)
		turn := all[len(all)-2].(map[string]any)
		delete(turn, "role")
		delete(turn, "content")
		if got, _ := json.Marshal(turn); string(got) != c.want {
			t.Errorf("%s: the turn comes back as\n%s\nwant\n%s", name, got, c.want)
		}
	}
}

// TestLimitOfOutput: a provider that does not know the field of the limit gets the other one, from then on.
func TestLimitOfOutput(t *testing.T) {
	t.Parallel()
	const (
		openAI  = `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}`
		mistral = `{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":16000}]},"type":"invalid_request_error","param":null,"code":null}`
		older   = `{"detail":[{"loc":["body","max_completion_tokens"],"msg":"extra fields not permitted","type":"value_error.extra"}]}`
		value   = `{"error":{"message":"max_tokens is too large: 16000. This model supports at most 4096 completion tokens","type":"invalid_request_error","param":"max_tokens","code":null}}`
	)
	good := deltas("stop", `{"content":"x"}`)
	for name, c := range map[string]struct {
		first   string
		answers []string
		want    []string
		fault   string
	}{
		"by default":     {"", []string{good}, []string{"max_tokens", "max_tokens"}, ""},
		"openai, behind": {"", []string{openAI, good}, []string{"max_tokens", "max_completion_tokens", "max_completion_tokens"}, ""},
		"mistral":        {model.MaxCompletionTokens, []string{mistral, good}, []string{"max_completion_tokens", "max_tokens", "max_tokens"}, ""},
		"fastapi":        {model.MaxCompletionTokens, []string{older, good}, []string{"max_completion_tokens", "max_tokens", "max_tokens"}, ""},
		"neither":        {"", []string{openAI, mistral, good}, []string{"max_tokens", "max_completion_tokens", "max_completion_tokens"}, "body.max_completion_tokens: Extra inputs are not permitted (extra_forbidden)"},
		"its value":      {"", []string{value, good}, []string{"max_tokens", "max_tokens"}, "too large: 16000"},
	} {
		client, p := answering(t, model.Chat, c.answers...)
		client.Limit = c.first
		_, err := client.Ask(t.Context(), conversation())
		if c.fault == "" && err != nil || c.fault != "" && (err == nil || !strings.Contains(err.Error(), c.fault)) {
			t.Errorf("%s: %v, want %q", name, err, c.fault)
		}
		if _, err := client.Ask(t.Context(), conversation()); err != nil {
			t.Errorf("%s: again: %v", name, err)
		}
		var got []string
		for _, q := range p.asked {
			for _, field := range []string{model.MaxTokens, model.MaxCompletionTokens} {
				if q[field] != nil {
					got = append(got, field)
				}
			}
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: asked with %q, want %q", name, got, c.want)
		}
	}
}

const (
	started = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":6,\"output_tokens\":1}}}\n\n"
	stopped = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%q},\"usage\":{\"output_tokens\":2}}\n\n"
	message = "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
)

// block is a block of an answer of messages, with one delta.
func block(i int, start, delta string) string {
	return fmt.Sprintf("data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":%s}\n\n", i, start) + fmt.Sprintf("data: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":%s}\n\n", i, delta)
}

// TestWholeWithoutItsEnd: an answer that lacks no more than the mark of its end is whole, and nothing is paid twice.
func TestWholeWithoutItsEnd(t *testing.T) {
	t.Parallel()
	chat := deltas("stop", `{"content":"all"}`)
	messages := started + block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"all"}`) + fmt.Sprintf(stopped, "end_turn")
	responses := `data: {"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"all"}]}]}}`
	for name, c := range map[string]struct {
		api    model.API
		stream string
		whole  bool
	}{
		"chat, no DONE":                      {model.Chat, strings.TrimSuffix(chat, "data: [DONE]\n\n"), true},
		"chat, no empty line":                {model.Chat, strings.TrimSuffix(chat, "\n"), true},
		"chat, no end of line":               {model.Chat, strings.TrimSuffix(chat, "\n\n"), true},
		"chat, half DONE":                    {model.Chat, strings.TrimSuffix(chat, "NE]\n\n"), true},
		"chat, the last chunk without end":   {model.Chat, strings.TrimSuffix(chat, "\n\ndata: [DONE]\n\n"), true},
		"chat, half the last chunk":          {model.Chat, strings.TrimSuffix(chat, "}]}\n\ndata: [DONE]\n\n"), false},
		"chat, no finish_reason":             {model.Chat, strings.ReplaceAll(chat, `"stop"`, "null"), false},
		"messages, no message_stop":          {model.Messages, messages, true},
		"messages, no empty line":            {model.Messages, strings.TrimSuffix(messages+message, "\n"), true},
		"messages, no stop_reason":           {model.Messages, strings.TrimSuffix(messages, fmt.Sprintf(stopped, "end_turn")), false},
		"responses, no end of line":          {model.Responses, responses, true},
		"responses, half of the whole":       {model.Responses, responses[:len(responses)-3], false},
		"responses, nothing but its begin":   {model.Responses, "data: {\"type\":\"response.created\",\"response\":{}}\n\n", false},
		"messages, a delta of another count": {model.Messages, strings.Replace(messages, `"index":0,"delta"`, `"index":7,"delta"`, 1), true},
	} {
		client, p := answering(t, c.api, c.stream)
		client.Repeats = 0
		a, err := client.Ask(t.Context(), conversation())
		if c.whole && (err != nil || a.Text != "all" || a.Stop != modelclient.StopEnd) || !c.whole && !errors.Is(err, modelclient.ErrCut) || p.calls() != 1 {
			t.Errorf("%s: got %+v %v after %d calls", name, a, err, p.calls())
		}
	}
}

// TestBlocksByIndex: a delta goes to its own block, also while another one is open.
func TestBlocksByIndex(t *testing.T) {
	t.Parallel()
	begin := func(i int, id string) string {
		return fmt.Sprintf("data: {\"type\":\"content_block_start\",\"index\":%d,\"content_block\":{\"type\":\"tool_use\",\"id\":%q,\"name\":\"run\",\"input\":{}}}\n\n", i, id)
	}
	more := func(i int, text string) string {
		return fmt.Sprintf("data: {\"type\":\"content_block_delta\",\"index\":%d,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%q}}\n\n", i, text)
	}
	client, _ := answering(t, model.Messages, started+begin(0, "a")+begin(1, "b")+more(0, `{"x"`)+more(1, `{"y":2}`)+more(0, `:1}`)+fmt.Sprintf(stopped, "tool_use")+message)
	a, err := client.Ask(t.Context(), conversation())
	want := []modelclient.Call{{ID: "a", Name: "run", Arguments: `{"x":1}`}, {ID: "b", Name: "run", Arguments: `{"y":2}`}}
	if err != nil || !reflect.DeepEqual(a.Calls, want) {
		t.Errorf("got %+v %v", a.Calls, err)
	}
}

// TestWordsOfProviders: how an answer ended is said plainly, and only an answer that may come out well is asked for again.
func TestWordsOfProviders(t *testing.T) {
	t.Parallel()
	failed := func(code string) string {
		return fmt.Sprintf("data: {\"type\":\"response.failed\",\"response\":{\"error\":{\"code\":%q,\"message\":\"No.\"}}}\n\n", code)
	}
	for name, c := range map[string]struct {
		api    model.API
		answer string
		calls  int
		want   string
	}{
		"filter":              {model.Chat, deltas("content_filter", `{"content":"Well"}`), 1, "stopped by the provider's content filter"},
		"filter of gemini":    {model.Chat, deltas("content_filter: RECITATION"), 1, "stopped by the provider's content filter: RECITATION"},
		"refusal":             {model.Chat, deltas("stop", `{"refusal":"I will not"}`), 1, "the model refuses: I will not"},
		"refusal of messages": {model.Messages, started + fmt.Sprintf(stopped, "refusal") + message, 1, "stopped by the provider's content filter"},
		"refusal with a reason": {model.Messages, started + `data: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_details":{"type":"refusal","category":"cyber","explanation":"It could harm."}}}` + "\n\n" + message, 1,
			"stopped by the provider's content filter: It could harm."},
		"filter of responses": {model.Responses, "data: {\"type\":\"response.incomplete\",\"response\":{\"incomplete_details\":{\"reason\":\"content_filter\"}}}\n\n", 1, "stopped by the provider's content filter"},
		"another form":        {model.Chat, deltas("stop", `{"content":7}`), 1, "ask the model: the provider's answer is not in the form of its API: choices.delta.content is a JSON number"},
		"overload":            {model.Messages, started + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n", 5, "ask the model: the model's provider ended the answer (overloaded_error): Overloaded"},
		"idle":                {model.Chat, "data: {\"choices\":[{\"delta\":{\"content\":\"We\"}}]}\n\ndata: {\"error\":{\"message\":\"silent for 5m\",\"type\":\"gateway_idle_timeout\"}}\n\n", 3, "ask the model: the model gateway ended the answer: silent for 5m"},
		"idle, messages":      {model.Messages, started + "event: error\ndata: {\"error\":{\"message\":\"silent for 5m\",\"type\":\"gateway_idle_timeout\"},\"type\":\"error\"}\n\n", 3, "ask the model: the model gateway ended the answer: silent for 5m"},
		"too large":           {model.Responses, "event: error\ndata: {\"code\":\"gateway_answer_too_large\",\"message\":\"more than 16 MiB\",\"param\":null,\"type\":\"error\"}\n\n", 1, "ask the model: the model gateway ended the answer: more than 16 MiB"},
		"a number":            {model.Chat, "data: {\"error\":{\"code\":502,\"message\":\"Provider disconnected\"},\"choices\":[]}\n\n", 3, "ask the model: the model's provider ended the answer (502): Provider disconnected"},
		"DeepSeek's load":     {model.Chat, deltas("insufficient_system_resource"), 3, "ask the model: the model's provider ended the answer (insufficient_system_resource)"},
		"failed":              {model.Responses, failed("server_error"), 3, "ask the model: the model's provider ended the answer (server_error): No."},
		"failed for good":     {model.Responses, failed("invalid_prompt"), 1, "ask the model: the model's provider ended the answer (invalid_prompt): No."},
		"failed, no word":     {model.Responses, "data: {\"type\":\"response.failed\",\"response\":{\"error\":null}}\n\n", 3, "ask the model: the model's provider ended the answer: without a reason"},
		"no JSON":             {model.Chat, "data: x\n\n", 3, "ask the model: an event of the answer is no JSON"},
		"an error in a list":  {model.Chat, `[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]`, 1, "ask the model: the model's provider answers 400 (INVALID_ARGUMENT): API key not valid."},
	} {
		client, p := answering(t, c.api, c.answer)
		a, err := client.Ask(t.Context(), conversation())
		if err == nil {
			err = a.Refused()
		}
		if err == nil || err.Error() != c.want || p.calls() != c.calls {
			t.Errorf("%s: got %v after %d calls\nwant %s after %d", name, err, p.calls(), c.want, c.calls)
		}
	}
	thinking := deltas("stop", `{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`, `{"content":[{"type":"text","text":"al"}]}`, `{"content":"l"}`)
	client, _ := answering(t, model.Chat, thinking)
	if a, err := client.Ask(t.Context(), conversation()); err != nil || a.Text != "all" {
		t.Errorf("a list of parts: %+v %v", a, err)
	}
	client, _ = answering(t, model.Chat, deltas("model_length", `{"content":"x"}`))
	if a, err := client.Ask(t.Context(), conversation()); err != nil || a.Stop != modelclient.StopContext {
		t.Errorf("a full context: %+v %v", a, err)
	}
}

// TestPauses: each repeat comes after a longer pause, which ends with the context, and is not begun where it is too long.
func TestPauses(t *testing.T) {
	t.Parallel()
	overload := "data: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
	client, p := answering(t, model.Messages, overload)
	client.Pause = 4 * time.Millisecond
	began := time.Now()
	if _, err := client.Ask(t.Context(), conversation()); err == nil || p.calls() != 5 {
		t.Errorf("%v after %d calls", err, p.calls())
	}
	if took := time.Since(began); took < 4*4*(1+2+4+8)/2*time.Millisecond {
		t.Errorf("all tries took %s", took)
	}
	client.Pause = time.Hour
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for p.calls() != 6 {
			time.Sleep(time.Millisecond)
		}
		cancel(enough)
	}()
	if _, err := client.Ask(ctx, conversation()); !errors.Is(err, enough) || p.calls() != 6 {
		t.Errorf("%v after %d calls", err, p.calls())
	}
	late, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	if _, err := client.Ask(late, conversation()); err == nil || !strings.Contains(err.Error(), "Overloaded") {
		t.Errorf("got %v", err)
	}
}

// TestStreamOfAnotherType: some servers name no type of their stream, or another one. Its beginning tells.
func TestStreamOfAnotherType(t *testing.T) {
	t.Parallel()
	for kind, text := range map[string]string{"text/plain": deltas("stop", `{"content":"all"}`), "application/octet-stream": "event: x\n" + deltas("stop", `{"content":"all"}`)} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, text)
		}))
		client := &modelclient.Client{API: model.Chat, Model: "m", Base: s.URL, HTTP: s.Client(), Header: http.Header{}}
		if a, err := client.Ask(t.Context(), conversation()); err != nil || a.Text != "all" {
			t.Errorf("%s: %+v %v", kind, a, err)
		}
		s.Close()
	}
}
