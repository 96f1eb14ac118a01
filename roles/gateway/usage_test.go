package gateway

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

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
