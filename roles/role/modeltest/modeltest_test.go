package modeltest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"sett/contract/model"
	"sett/roles/role/modeltest"
)

// bodies are small requests of each API, without the closing brace.
var bodies = map[model.API]struct{ path, body string }{
	model.Chat:      {"/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hi"}],"stream_options":{"include_usage":true}`},
	model.Messages:  {"/v1/messages", `{"model":"m","max_tokens":10,"messages":[{"role":"user","content":"hi"}]`},
	model.Responses: {"/v1/responses", `{"model":"m","input":"hi"`},
}

func ask(ctx context.Context, s *modeltest.Server, api model.API, stream bool) (status int, body string, err error) {
	b := bodies[api]
	q, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+b.path, strings.NewReader(fmt.Sprintf("%s,\"stream\":%v}", b.body, stream)))
	if err != nil {
		return 0, "", err
	}
	q.Header.Set("Anthropic-Version", "2023-06-01")
	q.Header.Set("Authorization", "Bearer secret")
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := c.Do(q)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	all, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(all), err
}

// TestAnswers: every API says text, call and usage, in a stream and without one.
func TestAnswers(t *testing.T) {
	usage := &model.Usage{Input: 101, Cached: 202, CacheWrite: 303, Output: 404, Reasoning: 55}
	step := modeltest.Step{Text: "Hello from the model.", Calls: []modeltest.Call{modeltest.Tool("edit", map[string]string{"path": "a"})}, Usage: usage}
	for _, api := range model.APIs() {
		for _, stream := range []bool{false, true} {
			s := modeltest.Start(t, step)
			status, body, err := ask(t.Context(), s, api, stream)
			if err != nil || status != http.StatusOK {
				t.Fatalf("%s, stream %v: %d %v", api, stream, status, err)
			}
			for _, want := range []string{"edit", "call_1", "202", "404"} {
				if !strings.Contains(body, want) {
					t.Errorf("%s, stream %v: no %s in %s", api, stream, want, body)
				}
			}
			for i, line := range strings.Split(body, "\n") {
				data, ok := strings.CutPrefix(line, "data: ")
				if !stream && !json.Valid([]byte(body)) || ok && data != "[DONE]" && !json.Valid([]byte(data)) {
					t.Errorf("%s: line %d is no JSON: %s", api, i, line)
				}
			}
			if got := s.Last(); got.API != api || got.Stream != stream || got.Model != "m" {
				t.Errorf("recorded %+v", got)
			}
		}
	}
}

// TestFaults: every fault looks as its name says, in every API.
func TestFaults(t *testing.T) {
	cut := func(status int, _ string, err error) bool { return err != nil }
	is := func(want int, has string) func(int, string, error) bool {
		return func(status int, body string, err error) bool {
			return err == nil && status == want && strings.Contains(body, has)
		}
	}
	for _, c := range []struct {
		fault  modeltest.Fault
		stream bool
		want   func(int, string, error) bool
	}{
		{modeltest.BadRequest, false, is(400, "invalid_request_error")}, {modeltest.Unauthorized, false, is(401, "invalid key secret")},
		{modeltest.PaymentRequired, true, is(402, "payment")}, {modeltest.NoModel, false, is(404, "no model")}, {modeltest.TimedOut, false, is(408, "timed out")},
		{modeltest.TooLarge, false, is(413, "too large")}, {modeltest.ContextOverflow, false, is(400, "too long")}, {modeltest.TooFast, true, is(429, "too many")},
		{modeltest.OutOfMoney, false, is(429, "balance")}, {modeltest.ServerError, false, is(500, "internal")}, {modeltest.Unavailable, false, is(503, "unavailable")},
		{modeltest.Overloaded, false, is(529, "verloaded")}, {modeltest.StreamError, true, is(200, "Overloaded secret")}, {modeltest.Reset, false, cut},
		{modeltest.CutHeaders, true, cut}, {modeltest.CutBody, false, cut}, {modeltest.CutBody, true, cut}, {modeltest.CutChunk, false, cut}, {modeltest.CutChunk, true, cut},
		{modeltest.CutStream, true, is(200, "The")}, {modeltest.HTML, false, is(200, "<html>")}, {modeltest.ErrorHTML, false, is(502, "<html>")},
		{modeltest.TruncatedJSON, true, is(200, "con")}, {modeltest.TruncatedJSON, false, is(200, "{")}, {modeltest.WrongSchema, false, is(200, "unexpected")},
		{modeltest.Empty, false, is(200, "{")}, {modeltest.NoBody, false, is(200, "")}, {modeltest.Redirect, false, is(307, "")},
		{modeltest.Large, true, is(200, strings.Repeat("x", 1000))}, {modeltest.Large, false, is(200, strings.Repeat("x", 60_000))},
	} {
		for _, api := range model.APIs() {
			s := modeltest.Start(t, modeltest.Step{Fault: c.fault, Size: 60_000})
			if status, body, err := ask(t.Context(), s, api, c.stream); !c.want(status, body, err) {
				t.Errorf("%s, %s, stream %v: %d %v %s", c.fault, api, c.stream, status, err, body)
			}
		}
	}
}

// TestSilence: the server sees that its client goes away.
func TestSilence(t *testing.T) {
	for _, fault := range []modeltest.Fault{modeltest.SilentHeaders, modeltest.SilentStream, modeltest.Endless} {
		s := modeltest.Start(t, modeltest.Broken(fault))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, _, err := ask(ctx, s, model.Messages, true)
			ended <- err
		}()
		s.Await("the request", func(all []modeltest.Request) bool { return len(all) == 1 })
		cancel()
		s.Await("its end", func(all []modeltest.Request) bool { return all[0].Done && all[0].Gone })
		if <-ended == nil {
			t.Errorf("%s: the request ended well", fault)
		}
	}
}

// TestStrict: the server refuses what the real ones refuse, and is away when told so.
func TestStrict(t *testing.T) {
	s := modeltest.Start(t, modeltest.Text("for the second"))
	s.Key = "right"
	if status, _, err := ask(t.Context(), s, model.Chat, false); status != http.StatusUnauthorized {
		t.Errorf("a wrong key: %d %v", status, err)
	}
	s.Key = ""
	answer, err := http.Post(s.URL+"/v1/messages", "application/json", bytes.NewReader([]byte(`{"model":"m","messages":[]}`)))
	if err != nil || answer.StatusCode != http.StatusBadRequest {
		t.Errorf("no max_tokens: %v %v", answer, err)
	}
	_ = answer.Body.Close()
	s.Away()
	if _, _, err := ask(t.Context(), s, model.Chat, false); err == nil {
		t.Error("a server that is away answered")
	}
	s.Back()
	if status, body, err := ask(t.Context(), s, model.Chat, false); err != nil || status != http.StatusOK || !strings.Contains(body, "for the second") {
		t.Errorf("it is back: %d %v %s", status, err, body)
	}
	if status, body, _ := ask(t.Context(), s, model.Chat, false); status != http.StatusBadRequest || !strings.Contains(body, "no step") {
		t.Errorf("without a step: %d %s", status, body)
	}
}
