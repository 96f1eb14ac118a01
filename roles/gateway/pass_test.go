package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"sett/blackboard/boardtest"
	"sett/contract/env"
	"sett/contract/model"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// TestAnswers: each API's answer comes as it is, and its usage is in the account.
func TestAnswers(t *testing.T) {
	usage := model.Usage{Input: 1001, Cached: 202, CacheWrite: 33, Output: 44, Reasoning: 5}
	for _, api := range model.APIs() {
		for _, stream := range []bool{false, true} {
			step := modeltest.Step{Text: "Hello, this is a model.", Calls: []modeltest.Call{modeltest.Tool("edit", map[string]int{"a": 1})}, Usage: &usage}
			p := newPlace(t, nil, step, step)
			got := p.ask(ask{api: api, stream: stream})
			if got.status != http.StatusOK || got.err != nil {
				t.Fatalf("%s, stream %v: %v", api, stream, got)
			}
			q, _ := http.NewRequest(http.MethodPost, p.mock.URL+requests[api].path, strings.NewReader(strings.Replace(ask{api: api, stream: stream}.text(), "any", "real-model", 1)))
			q.Header.Set("Anthropic-Version", "1")
			q.Header.Set("X-Api-Key", providerKey)
			direct, err := http.DefaultClient.Do(q)
			if err != nil {
				t.Fatal(err)
			}
			want := readAll(t, direct.Body)
			if api == model.Chat && stream {
				got.body = strings.ReplaceAll(got.body, `,"usage":null`, "") // the provider's, which the client did not ask for
			}
			if got.body != want {
				t.Errorf("%s, stream %v: got\n%s\nwant\n%s", api, stream, got.body, want)
			}
			s := p.only()
			expect := usage
			if api == model.Messages {
				expect.Reasoning = 0 // this API does not say
			}
			if s.Usage != expect || s.Calls != 1 || s.Estimated != 0 || !s.Priced || s.Cost != (model.Price{Input: model.Unit, Output: 2 * model.Unit}).Cost(expect) {
				t.Errorf("%s, stream %v: account %+v", api, stream, s)
			}
		}
	}
}

// TestRequestIsPassedOn: nothing changes but authorization, the model's name and the
// report of the usage.
func TestRequestIsPassedOn(t *testing.T) {
	for _, c := range []struct{ name, api, body, want string }{
		{"name", "chat", `{ "model" : "any" , "messages":[ ] ,"x":1.50}`, `{ "model" : "real-model" , "messages":[ ] ,"x":1.50}`},
		{"no name", "chat", `{"messages":[]}`, `{"model":"real-model","messages":[]}`},
		{"stream", "chat", `{"model":"real-model","stream":true,"messages":[]}`, `{"stream_options":{"include_usage":true},"model":"real-model","stream":true,"messages":[]}`},
		{"asked", "chat", `{"model":"real-model","stream":true,"stream_options":{"include_usage":true},"messages":[]}`, `{"model":"real-model","stream":true,"stream_options":{"include_usage":true},"messages":[]}`},
		{"not asked", "chat", `{"model":"real-model","stream":true,"stream_options":{"include_usage":false,"a":1},"messages":[]}`, `{"model":"real-model","stream":true,"stream_options":{"include_usage":true,"a":1},"messages":[]}`},
		{"other options", "chat", `{"model":"real-model","stream":true,"stream_options":{"a":1},"messages":[]}`, `{"model":"real-model","stream":true,"stream_options":{"include_usage":true,"a":1},"messages":[]}`},
		{"no options", "chat", `{"model":"real-model","stream":true,"stream_options":{},"messages":[]}`, `{"model":"real-model","stream":true,"stream_options":{"include_usage":true},"messages":[]}`},
		{"null options", "chat", `{"model":"real-model","stream":true,"stream_options":null,"messages":[]}`, `{"model":"real-model","stream":true,"stream_options":{"include_usage":true},"messages":[]}`},
		{"escapes", "messages", `{"messages":[{"content":"a\\\"b{[}"}],"max_tokens":9,"model":"x","t":{"model":"inner"}}`, `{"messages":[{"content":"a\\\"b{[}"}],"max_tokens":9,"model":"real-model","t":{"model":"inner"}}`},
		{"stream of messages", "messages", `{"model":"real-model","max_tokens":9,"messages":[],"stream":true}`, `{"model":"real-model","max_tokens":9,"messages":[],"stream":true}`},
	} {
		p := newPlace(t, func(g *env.Gateway) { g.Models[0].Headers = map[string]string{"X-Team": "blue"} }, modeltest.Text("ok"))
		got := p.ask(ask{api: model.API(c.api), body: c.body, header: map[string]string{
			"Anthropic-Beta": "b1", "Anthropic-Version": "v", "Accept-Encoding": "gzip", "Cookie": "c", "User-Agent": "tool/1", "X-Api-Key": "of the client", "Connection": "X-Hop", "X-Hop": "1"}})
		if got.status != http.StatusOK {
			t.Errorf("%s: %v", c.name, got)
			continue
		}
		sent := p.mock.Last()
		if string(sent.Body) != c.want {
			t.Errorf("%s: sent %s, want %s", c.name, sent.Body, c.want)
		}
		h := sent.Header
		if h.Get("Anthropic-Beta") != "b1" || h.Get("X-Team") != "blue" || h.Get("User-Agent") != "tool/1" || h.Get("Accept-Encoding") != "identity" ||
			h.Get("Cookie")+h.Get("X-Hop")+h.Get(line.Agent)+h.Get(line.Claim) != "" {
			t.Errorf("%s: headers %v", c.name, h)
		}
	}
}

// TestUnfitRequests: what two readers could understand in two ways is not passed on.
func TestUnfitRequests(t *testing.T) {
	p := newPlace(t, nil)
	for body, want := range map[string]int{
		`{"model":"a","model":"b","messages":[]}`: 400,
		`{"Model":"a","messages":[]}`:             400,
		`{"mod\u0065l":"a","model":"b"}`:          400,
		`{"max_tokens":0,"messages":[]}`:          400,
		`{"max_tokens":1e9,"messages":[]}`:        400,
		`{"n":-1}`:                                400,
		`{"messages":[}`:                          400,
		`{"a":1} {"a":2}`:                         400,
		`[]`:                                      400,
		`{"stream":true,"stream_options":5}`:      400,
		``:                                        400,
		`{"a":` + strings.Repeat("[", 20_000):     400,
		`{"messages":"` + strings.Repeat("x", 32<<20) + `"}`: 413,
	} {
		a := ask{body: body}
		if body == "" {
			a.body = " "
		}
		if got := p.ask(a); got.status != want || got.refused() != line.Request {
			t.Errorf("%.60s: %v, want %d", body, got, want)
		}
	}
	if n := len(p.mock.Requests()); n != 0 {
		t.Errorf("the provider got %d requests", n)
	}
	if s := p.spent(); s.Calls != 0 || s.Held.Tokens != 0 {
		t.Errorf("account %+v", s)
	}
}

// TestPaths: five paths are served, to callers with their own token and a running grant.
func TestPaths(t *testing.T) {
	p := newPlace(t, nil)
	for _, c := range []struct {
		name   string
		a      ask
		status int
		why    line.Why
	}{
		{"other path", ask{path: "/v1/embeddings"}, 404, line.Request},
		{"other version", ask{path: "/v2/chat/completions"}, 404, line.Request},
		{"other method", ask{method: http.MethodGet}, 404, line.Request},
		{"dots", ask{path: "/v1/messages/../files"}, 404, line.Request},
		{"other agent", ask{header: map[string]string{line.Agent: "reviewer"}}, 401, line.Request},
		{"no token", ask{header: map[string]string{"Authorization": ""}}, 401, line.Request},
		{"no model", ask{header: map[string]string{line.Agent: "idle", "Authorization": "Bearer " + line.Token(instanceKey, "idle")}}, 403, line.Request},
		{"no call", ask{header: map[string]string{line.Call: "x"}}, 400, line.Request},
		{"other holder", ask{holder: "somebody"}, 403, line.NotRunning},
		{"other attempt", ask{attempt: 2}, 403, line.NotRunning},
		{"a bid on no claim", ask{bid: true, header: map[string]string{line.Claim: boardtest.NewID()}}, 403, line.NotRunning},
	} {
		got := p.ask(c.a)
		if got.status != c.status || got.refused() != c.why || got.header.Get(line.ShouldRetry) != "false" || !json.Valid([]byte(got.body)) {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	for api, want := range map[model.API]string{model.Chat: `"object":"list"`, model.Messages: `"has_more":false`} {
		if got := p.ask(ask{api: api, path: "/v1/models", method: http.MethodGet}); got.status != 200 || !strings.Contains(got.body, want) || !strings.Contains(got.body, "real-model") {
			t.Errorf("models: %v", got)
		}
	}
	if got := p.ask(ask{api: model.Messages, path: "/v1/messages/count_tokens"}); got.status != 200 || !strings.Contains(got.body, "input_tokens") {
		t.Errorf("count_tokens: %v", got)
	}
	if n := len(p.mock.Requests()); n != 1 || p.spent().Calls != 0 {
		t.Errorf("%d requests, account %+v", n, p.spent())
	}
}

// TestHiddenUsage: the chunk with the usage reaches the client that asked for it alone.
func TestHiddenUsage(t *testing.T) {
	p := newPlace(t, nil, modeltest.Text("one"), modeltest.Text("two"))
	if got := p.ask(ask{stream: true}); strings.Contains(got.body, "prompt_tokens") || !strings.HasSuffix(got.body, "data: [DONE]\n\n") {
		t.Errorf("not asked for: %v", got.body)
	}
	if got := p.ask(ask{stream: true, more: `"stream_options":{"include_usage":true},`}); !strings.Contains(got.body, "prompt_tokens") {
		t.Errorf("asked for: %v", got.body)
	}
	if s := p.only(); s.Calls != 2 || s.Estimated != 0 {
		t.Errorf("account %+v", s)
	}
}
