package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	"sett/contract/model"
)

// odd are counts of tokens that no provider means.
var odd = []string{"-1", "4611686018427387904", "1e30", "1.5", `"12"`, "null", "[]", "{}", "true"}

// TestOddCounts: each counts as none, beside others that are read, in all APIs.
func TestOddCounts(t *testing.T) {
	t.Parallel()
	for _, n := range odd {
		for api, form := range map[model.API]string{
			model.Chat:      `{"prompt_tokens":%[1]s,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":%[1]s},"completion_tokens_details":%[1]s}`,
			model.Responses: `{"input_tokens":%[1]s,"output_tokens":5,"input_tokens_details":{"cached_tokens":%[1]s,"cache_write_tokens":%[1]s},"output_tokens_details":{"reasoning_tokens":%[1]s}}`,
			model.Messages:  `{"input_tokens":%[1]s,"cache_read_input_tokens":%[1]s,"cache_creation_input_tokens":%[1]s,"output_tokens":5}`,
		} {
			var c counted
			c.read(api, fmt.Appendf(nil, form, n))
			if c != (counted{Usage: model.Usage{Output: 5}, output: true}) {
				t.Errorf("%s, %s: %+v", api, n, c)
			}
		}
	}
}

// TestOddCountsAreEstimated: a call with such counts is accounted as one that its provider did not count, and the
// next one of the grant goes on.
func TestOddCountsAreEstimated(t *testing.T) {
	t.Parallel()
	for _, n := range odd {
		t.Run(n, func(t *testing.T) {
			t.Parallel()
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, `{"choices":[{"message":{"content":"four words are here"}}],"usage":{"prompt_tokens":`+n+`,"completion_tokens":`+n+`}}`)
			}))
			t.Cleanup(provider.Close)
			p := newPlace(t, func(g *env.Gateway) {
				g.Models[0].BaseURL, g.Budget = provider.URL, model.Budget{Cost: model.Unit, Tokens: 100_000}
			})
			for i := range 2 {
				if got := p.ask(ask{}); got.status != http.StatusOK {
					t.Fatalf("call %d: %v", i, got)
				}
			}
			s := p.spent()
			if s.Calls != 2 || s.Tokens <= 0 || s.Tokens > 1000 || s.Cost <= 0 || s.Cost > model.Unit || len(s.Runs) != 1 || s.Runs[0].Estimated != 2 || s.Held.Tokens != 0 {
				t.Errorf("account: %+v", s)
			}
		})
	}
}

// TestOutputOfManyCopies: a request for more than there are numbers reserves a number above zero.
func TestOutputOfManyCopies(t *testing.T) {
	t.Parallel()
	p := newPlace(t, budgeted(model.Budget{Tokens: 3000}, 8000), using(10, 500))
	if got := p.ask(ask{more: `"n":2251799813685247,"max_tokens":2251799813685247,`}); got.status != http.StatusTooManyRequests {
		t.Errorf("answered %v", got)
	}
	if len(p.mock.Requests()) > 0 {
		t.Error("it went to the provider")
	}
}

// TestModelThatAnswered: the ledger has the name by which the provider was asked, and the one that it answers with where that is
// another, in all APIs.
func TestModelThatAnswered(t *testing.T) {
	t.Parallel()
	for api, answers := range map[model.API][2]string{ // whole, and the last events of a stream
		model.Chat: {`{"model":"other","choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
			"data: {\"model\":\"other\",\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n"},
		model.Messages: {`{"model":"other","content":[],"usage":{"input_tokens":1,"output_tokens":1}}`,
			"data: {\"type\":\"message_start\",\"message\":{\"model\":\"other\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\ndata: {\"type\":\"message_stop\"}\n\n"},
		model.Responses: {`{"model":"other","output":[],"usage":{"input_tokens":1,"output_tokens":1}}`,
			"data: {\"type\":\"response.completed\",\"response\":{\"model\":\"other\",\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n"},
	} {
		for i, answer := range answers {
			for asked, want := range map[string]string{"real-model": "other", "other": ""} {
				provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", []string{"application/json", "text/event-stream"}[i])
					_, _ = io.WriteString(w, answer)
				}))
				p := newPlace(t, func(g *env.Gateway) {
					g.Models[0].BaseURL, g.Models[0].API, g.Models[0].Model = provider.URL, api, asked
				})
				if got := p.ask(ask{api: api, stream: i == 1}); got.status != http.StatusOK {
					t.Fatalf("%s: %v", answer, got)
				}
				provider.Close()
				p.server.settling.Wait()
				all := p.board.Events(blackboard.EventCall)
				if len(all) != 1 {
					t.Fatalf("%s: %d entries", answer, len(all))
				}
				e := all[0]
				if e.Attributes["model"] != "smart" || e.Attributes["provider_model"] != asked || e.Attributes["answer_model"] != want {
					t.Errorf("%s, asked for %s: %+v", answer, asked, e)
				}
			}
		}
	}
}

// TestStreamWithoutItsLastEvent: some servers leave out `data: [DONE]`. The answer is whole once it says why the model stopped.
func TestStreamWithoutItsLastEvent(t *testing.T) {
	t.Parallel()
	const usage = `"usage":{"prompt_tokens":1,"completion_tokens":1}`
	for answer, want := range map[string]string{
		`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason": "stop"}],` + usage + "}\n\n": "",
		`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}],` + usage + "}":      "",
		`data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n":             "the stream ended without its last event",
		`data: {"choices":[{"index":0,"delta":{"content":"\"finish_reason\":\"a\""}}]}` + "\n\n":            "the stream ended without its last event",
	} {
		provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, answer)
		}))
		p := newPlace(t, func(g *env.Gateway) { g.Models[0].BaseURL = provider.URL })
		if got := p.ask(ask{api: model.Chat, stream: true}); got.status != http.StatusOK {
			t.Fatalf("%s: %v", answer, got)
		}
		provider.Close()
		p.server.settling.Wait()
		all := p.board.Events(blackboard.EventCall)
		if len(all) != 1 || all[0].Reason != want {
			t.Errorf("%s: %+v, want the reason %q", answer, all, want)
		}
	}
}
