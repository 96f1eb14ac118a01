package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/role/modeltest"
)

// modelGround is an instance behind a proxy whose one agent is a model: a call decides its
// bid, and two calls are its work.
type modelGround struct {
	*ground
	provider *modeltest.Server
	mu       sync.Mutex
	asked    int         // requests of the goal
	at       func(n int) // is called at the n-th request
}

const modelUsage = 50 // tokens of each answer

func newModelGround(t *testing.T, url, boardURL string, p *proxy, changed ...func(clan) clan) *modelGround {
	t.Helper()
	c := solo(finished, "")
	for _, change := range changed {
		c = change(c)
	}
	g := &modelGround{provider: modeltest.Start(t), ground: &ground{proxy: p}}
	g.provider.Play = g.play
	g.instance = prepare(t, options{clan: c, url: url, boardURL: boardURL})
	file(t, filepath.Join(g.repo, "sett.yml"), fmt.Sprintf(`
version: "1.0"
runtime: process
redis: {url: %q}
agents:
  solo:
    llm: {model: m}
    workspace: {mode: none}
    makes: Word
    terminal: true
    retries: 1
    bids: {GoalDefined: model}
    prompts: {claim: Bid on all., execution: Say a word.}
models: {m: {api: chat, model: real-name, base_url: %q, price: {input: 1, output: 2}}}
budget: {tokens: 10M}
`, url, g.provider.URL), 0o644)
	g.git("commit", "-qam", "a model alone")
	g.up()
	return g
}

// play answers a request: for a bid, then with broken arguments, then with the result.
func (g *modelGround) play(q modeltest.Request) modeltest.Step {
	g.mu.Lock()
	g.asked++
	n, at := g.asked, g.at
	g.mu.Unlock()
	if at != nil {
		at(n)
	}
	usage := &model.Usage{Input: 40, Output: 10}
	switch {
	case bytes.Contains(q.Body, []byte("Bid on all.")):
		return modeltest.Step{Structured: map[string]string{"bid": "exclusive", "reason": "mine"}, Usage: usage}
	case !bytes.Contains(q.Body, []byte(`"assistant"`)):
		return modeltest.Step{Calls: []modeltest.Call{{Name: "finish", Arguments: `{"payload":`}}, Usage: usage}
	}
	return modeltest.Step{Calls: []modeltest.Call{modeltest.Tool("finish", map[string]any{"summary": "s", "payload": "p", "artefact_type": "Word"})}, Usage: usage}
}

// tried runs a goal in which something dies, and holds its account to the provider's own.
func (g *modelGround) tried(what string, at func(n int)) {
	g.t.Helper()
	g.settled()
	g.mu.Lock()
	g.asked, g.at = 0, at
	g.mu.Unlock()
	goal := g.post("x")
	g.await(goal, enough)
	g.mu.Lock()
	g.at = nil
	asked := int64(g.asked)
	g.mu.Unlock()
	if got := g.status(goal); got != blackboard.WorkflowAchieved {
		_, said := g.sett("show", goal)
		g.t.Errorf("%s: the goal is %s\n%s", what, got, said)
	}
	eventually(g.t, enough, "all calls to be settled", func() bool {
		s, err := g.board.Calls.Spending(g.t.Context(), goal)
		return err == nil && s.Held.Tokens == 0
	})
	s, err := g.board.Calls.Spending(g.t.Context(), goal)
	if err != nil {
		g.t.Fatal(err)
	}
	entries, tokens, once := int64(0), int64(0), map[string]bool{}
	for _, e := range g.ledger() {
		if e.Kind != blackboard.EventCall || e.Workflow != goal {
			continue
		}
		if id := e.Attributes["call"]; once[id] {
			g.t.Errorf("%s: call %s is counted twice", what, id)
		} else {
			once[id] = true
		}
		entries++
		var n [4]int64
		for i, field := range []string{"input", "cached", "cache_write", "output"} {
			_, _ = fmt.Sscan(e.Attributes[field], &n[i])
			tokens += n[i]
		}
	}
	if s.Calls != entries || s.Tokens != tokens {
		g.t.Errorf("%s: account %+v, the ledger has %d calls and %d tokens", what, s, entries, tokens)
	}
	if asked < 3 || tokens < asked*modelUsage || entries > asked+1 {
		g.t.Errorf("%s: the provider gave %d answers of %d tokens, counted are %d calls and %d tokens", what, asked, modelUsage, entries, tokens)
	}
}

// TestCrashAtEveryWriteOfACall kills the model gateway, the cub and the orchestrator at
// each of their writes while a model bids and works: the goal is achieved, each answer is
// paid for, and no call is counted twice.
func TestCrashAtEveryWriteOfACall(t *testing.T) {
	t.Parallel()
	for _, v := range []victim{{"model-gateway", "model-gateway"}, {"cub-solo", "agent-solo"}, {"orchestrator", "orchestrator"}} {
		t.Run(v.unit, func(t *testing.T) {
			t.Parallel()
			server := startRedis(t)
			p := newProxy(t, server.Addr())
			var changed []func(clan) clan
			if v.unit == "orchestrator" {
				changed = append(changed, clan.without) // where scripts decide, it writes nothing
			}
			g := newModelGround(t, p.url(), server.URL, p, changed...)
			g.tried("undisturbed", nil)
			points := 0
			for n, fired := 1, true; fired; n++ {
				g.settled()
				g.bounce("keeper")
				for _, when := range moments(n, points) {
					p.arm(&trap{client: v.client, n: n, when: when, kill: func() { g.shoot(v.unit) }})
					g.tried(fmt.Sprintf("%s died %s its write %d", v.unit, when, n), nil)
					if fired = p.disarm(); fired {
						points++
					}
				}
			}
			if points < 3 {
				t.Errorf("only %d crash points were reached", points)
			}
			g.atRest()
		})
	}
}

// TestCrashOfBlackboardInACall kills the blackboard at each reservation and settlement.
func TestCrashOfBlackboardInACall(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	p := newProxy(t, s.addr)
	g := newModelGround(t, p.url(), "redis://"+s.addr, p)
	g.tried("undisturbed", nil)
	points := 0
	for i, script := range []string{"reserve_call", "settle_call"} {
		for n, fired := 1, true; fired; n++ {
			for _, when := range moments(n, i) {
				g.settled()
				p.arm(&trap{script: script, n: n, when: when, kill: s.kill})
				g.tried(fmt.Sprintf("the blackboard died %s %s %d", when, script, n), nil)
				if fired = p.disarm(); fired {
					points++
				}
			}
		}
	}
	if points < 4 {
		t.Errorf("only %d crash points were reached", points)
	}
	g.atRest()
}

// TestCrashOfLLMInACall kills sett llm while its provider answers. The grant fails with the
// reason, and a person has it tried again.
func TestCrashOfLLMInACall(t *testing.T) {
	t.Parallel()
	server := startRedis(t)
	p := newProxy(t, server.Addr())
	g := newModelGround(t, p.url(), server.URL, p)
	for n := 2; n <= 3; n++ { // the first is for the bid
		g.settled()
		g.mu.Lock()
		g.asked, g.at = 0, func(asked int) {
			if asked == n {
				g.endLLM()
			}
		}
		g.mu.Unlock()
		goal := g.post("x")
		g.await(goal, enough)
		failure, report := g.failure(goal)
		if report.Signal == "" {
			t.Errorf("the Failure is %+v", report)
		}
		g.mu.Lock()
		g.at = nil
		g.mu.Unlock()
		g.must("retry", failure.ID, "--wait")
		eventually(t, enough, "all calls to be settled", func() bool {
			s, err := g.board.Calls.Spending(t.Context(), goal)
			return err == nil && s.Held.Tokens == 0 && s.Tokens >= int64(n+2)*modelUsage
		})
	}
	g.atRest()
}

// endLLM kills the sett llm of this instance: the one below its cub. It hides its directory from its user.
func (g *modelGround) endLLM() {
	cub := g.pid("agent-solo")
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range all {
		words, err := os.ReadFile(path)
		if err != nil || !bytes.HasSuffix(words, []byte("\x00llm\x00")) {
			continue
		}
		var pid int
		if _, err := fmt.Sscanf(path, "/proc/%d/cmdline", &pid); err == nil && isBelow(pid, cub) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			return
		}
	}
	g.t.Error("no sett llm runs")
}

// isBelow says whether a process is below another one.
func isBelow(pid, top int) bool {
	for pid > 1 && pid != top {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		_, rest, _ := strings.Cut(string(text), ") ")
		var state string
		if _, scanErr := fmt.Sscan(rest, &state, &pid); err != nil || scanErr != nil {
			return false
		}
	}
	return pid == top
}
