package trial

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"sett/contract/config"
	"sett/contract/model"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// An interruption while the model thinks about its bid is one of the trial: no bid is reported.
func TestModelBidInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		_, _ = io.Copy(io.Discard, q.Body) // only then the end of the call is seen here
		interrupt()
		<-q.Context().Done()
	}))
	defer server.Close()
	on := term.New(role.Env{Now: time.Now, Entropy: rand.Reader})
	trial := &Trial{Terminal: &on, Agent: config.Agent{Name: "writer", LLM: &config.LLM{Asks: config.ModelFacts{API: model.Chat, Model: "m"}}}, gate: &gate{url: server.URL, token: "x"}}
	if err := bidByModel(ctx, trial); role.CodeOf(err) != role.Interrupted || trial.report.Problem != nil {
		t.Errorf("ended with %v, reports %+v", err, trial.report)
	}
}
