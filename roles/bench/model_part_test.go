//go:build bench

package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/contract/model"
	"sett/contract/tool"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// clockwork is a provider whose chunks say when they were sent, in nanoseconds.
func clockwork(tb testing.TB, chunks int, apart time.Duration) string {
	tb.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		control := http.NewResponseController(w)
		every := time.NewTicker(apart)
		defer every.Stop()
		for range chunks {
			<-every.C
			fmt.Fprintf(w, "data: {\"id\":\"x\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d\"}}]}\n\n", time.Now().UnixNano())
			_ = control.Flush()
		}
		_, _ = fmt.Fprint(w, "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}\n\ndata: [DONE]\n\n")
	}))
	tb.Cleanup(s.Close)
	return s.URL
}

// late returns how long after its sending each chunk of a stream came.
func late(tb testing.TB, url, token string) (all []time.Duration) {
	tb.Helper()
	q, err := http.NewRequestWithContext(tb.Context(), http.MethodPost, url+"/v1/chat/completions", strings.NewReader(`{"model":"m","stream":true,"messages":[]}`))
	if err != nil {
		tb.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		tb.Fatal(err)
	}
	defer answer.Body.Close()
	for r := bufio.NewScanner(answer.Body); r.Scan(); {
		came := time.Now().UnixNano()
		if _, text, ok := bytes.Cut(r.Bytes(), []byte(`"content":"`)); ok {
			digits, _, _ := bytes.Cut(text, []byte(`"`))
			sent, err := strconv.ParseInt(string(digits), 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			all = append(all, time.Duration(came-sent))
		}
	}
	return all
}

// TestBenchModelChunks compares the chunks of streams by door and gateway with those of
// bare ones.
func TestBenchModelChunks(t *testing.T) {
	const chunks = 200
	provider := clockwork(t, chunks, 2*time.Millisecond)
	m := startModelAt(t, provider)
	var bare, through []time.Duration
	for range 5 {
		bare = append(bare, late(t, provider, "")...)
		through = append(through, late(t, m.door, m.token)...)
	}
	if len(bare) != 5*chunks || len(through) != 5*chunks {
		t.Fatalf("%d and %d chunks", len(bare), len(through))
	}
	t.Logf("a chunk comes after %v, by the gateway after %v", median(bare), median(through))
	verdict(t, "each chunk of a stream later", ms(median(through)-median(bare)), 1, "ms")
}

// TestBenchModelBid measures the way of a bid from the model's answer to the board.
func TestBenchModelBid(t *testing.T) {
	m := startModel(t)
	answered := make(chan time.Time, 1)
	m.mock.Play = func(modeltest.Request) modeltest.Step {
		answered <- time.Now()
		return modeltest.Structured(map[string]string{"bid": "ignore", "reason": "no"})
	}
	v := env.Of(config.Agent{
		Name: "bidder", Role: "bidder", Command: []string{"true"}, Bids: []config.BidRule{{Type: blackboard.TypeGoalDefined, Bid: config.BidModel}},
		Prompts: config.Prompts{Claim: "Bid."}, Replicas: 1, Strategy: config.StrategyReuse, Timeout: time.Minute, Grace: time.Second,
		Workspace: config.Workspace{Mode: blackboard.NoWorkspace},
	})
	v.Instance, v.Workspace, v.HealthAddr, v.Redis = "bench", t.TempDir(), "off", env.Redis{URL: m.board.Server.URL, Retries: 5}
	v.Asks = env.Asks{Gateway: m.url, Token: line.Token(gatewaySecret, "bidder"), Model: "m", API: model.Chat}
	spawn(t, "cub", v.Environ()...)
	var all []time.Duration
	for n := range 60 {
		claim := m.board.Open(m.board.Goal("goal"), "bidder")
		at := <-answered
		for deadline := at.Add(time.Minute); len(m.board.Snapshot(claim).Bids) == 0; {
			if time.Now().After(deadline) {
				t.Fatal("no bid")
			}
		}
		if n >= 10 {
			all = append(all, time.Since(at))
		}
	}
	verdict(t, "answer of the model to bid on the board", ms(median(all)), 5, "ms")
}

// TestBenchModelTool measures sett llm from its start to its first request, as users have
// the binary, with a context of 50 artefacts.
func TestBenchModelTool(t *testing.T) {
	m := modeltest.Start(t)
	came := make(chan time.Time, 1)
	m.Play = func(modeltest.Request) modeltest.Step {
		came <- time.Now()
		return modeltest.Calls(modeltest.Tool("finish", map[string]string{"payload": "p", "summary": "s"}))
	}
	file := goBuild(t, t.TempDir(), "sett")
	artefact := func(id, kind, payload string) blackboard.Artefact {
		return blackboard.Artefact{ID: id, LogicalID: id, Version: 1, StructuralType: blackboard.Standard, Type: kind, Payload: payload, ProducedByRole: "user"}
	}
	in := tool.Input{ClaimType: blackboard.BidExclusive, Target: artefact("01M7YNZ5D8DWX9T3X1JYQS698S", blackboard.TypeGoalDefined, "goal")}
	for i := range 50 {
		in.ContextChain = append(in.ContextChain, artefact(fmt.Sprintf("01M7YNZ5D8DWX9T3X1JYQS%02dAB", i), "Note", strings.Repeat("a long text. ", 200)))
	}
	stdin, err := in.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var floor, all []time.Duration
	for range 60 {
		began := time.Now()
		if err := exec.Command(file, "version").Run(); err != nil {
			t.Fatal(err)
		}
		floor = append(floor, time.Since(began))
		cmd := exec.Command(file, "llm")
		cmd.Dir, cmd.Stdin = t.TempDir(), bytes.NewReader(stdin)
		cmd.Env = []string{
			env.ModelName + "=m", env.OpenAIBase + "=" + m.URL + "/v1", env.OpenAIKey + "=the-token", env.LLMSettings + "=" + env.LLM{Makes: []string{"Notes"}}.Encode(),
			env.Workspace + "=" + cmd.Dir, env.WorkspaceMode + "=rw", env.Role + "=Coder",
		}
		began = time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		all = append(all, (<-came).Sub(began))
	}
	t.Logf("sett version %v, sett llm to its first request %v", median(floor), median(all))
	verdict(t, "start of sett llm to its first request", ms(median(all)), 15, "ms")
}
