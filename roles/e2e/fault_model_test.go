package e2e

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"sett/blackboard"
	"sett/roles/role/modeltest"
)

// modelFault is what a provider does with the requests of a goal: those for a bid, and
// those for the work of sett llm.
type modelFault struct {
	name  string
	steps []modeltest.Step // the last one again and again; after them, with then, the model is well
	then  bool

	bid       string // in the reason of the bid
	work      string // in the Failure; empty: the goal is achieved
	calls     int64  // of the work
	estimated bool   // in the account
	free      bool   // no token is in the account
}

func modelFaults() []modelFault {
	fault := func(f modeltest.Fault) []modeltest.Step { return []modeltest.Step{{Fault: f}} }
	after := func(f modeltest.Fault, header, value string) []modeltest.Step {
		return []modeltest.Step{{Fault: f, Header: map[string]string{header: value}}}
	}
	return []modelFault{
		{name: "200", then: true, bid: "model: fine", calls: 1},
		{name: "400", steps: fault(modeltest.BadRequest), bid: "400", work: "400", calls: 1, free: true},
		{name: "401", steps: fault(modeltest.Unauthorized), bid: "401", work: "401", calls: 1, free: true},
		{name: "402", steps: fault(modeltest.PaymentRequired), bid: "402", work: "402", calls: 1, free: true},
		{name: "404", steps: fault(modeltest.NoModel), bid: "no model", work: "no model", calls: 1, free: true},
		{name: "413", steps: fault(modeltest.TooLarge), bid: "too large", work: "too large", calls: 1, free: true},
		{name: "overflow", steps: fault(modeltest.ContextOverflow), bid: "too long", work: "context", calls: 1, free: true},
		{name: "429", steps: fault(modeltest.TooFast), bid: "too many requests", work: "too many requests", calls: 1, free: true},
		{name: "429-once", steps: after(modeltest.TooFast, "Retry-After", "0.1"), then: true, bid: "model: fine", calls: 1},
		{name: "429-huge", steps: after(modeltest.TooFast, "Retry-After", "86400"), bid: "too many requests", work: "too many requests", calls: 1, free: true},
		{name: "429-money", steps: fault(modeltest.OutOfMoney), bid: "balance", work: "balance", calls: 1, free: true},
		{name: "500", steps: fault(modeltest.ServerError), bid: "500", work: "500", calls: 1, free: true},
		{name: "503", steps: fault(modeltest.Unavailable), bid: "503", work: "503", calls: 1, free: true},
		{name: "529", steps: fault(modeltest.Overloaded), bid: "529", work: "529", calls: 1, free: true},
		{name: "error-event", steps: fault(modeltest.StreamError), bid: "Overloaded", work: "Overloaded", calls: 5, estimated: true},
		{name: "reset", steps: fault(modeltest.Reset), bid: "out of reach", work: "out of reach", calls: 1, estimated: true},
		{name: "cut-headers", steps: fault(modeltest.CutHeaders), bid: "out of reach", work: "out of reach", calls: 1, estimated: true},
		{name: "cut-body", steps: fault(modeltest.CutBody), bid: "in the middle of the answer", work: "in the middle of the answer", calls: 3, estimated: true},
		{name: "cut-body-once", steps: fault(modeltest.CutBody), then: true, bid: "model: fine", calls: 2, estimated: true},
		{name: "cut-chunk", steps: fault(modeltest.CutChunk), bid: "in the middle of the answer", work: "in the middle of the answer", calls: 3, estimated: true},
		{name: "silence-before", steps: fault(modeltest.SilentHeaders), bid: "no answer in time", work: "no answer in time", calls: 1, estimated: true},
		{name: "silence-within", steps: fault(modeltest.SilentStream), then: true, bid: "model: fine", calls: 2, estimated: true},
		{name: "html", steps: fault(modeltest.HTML), bid: "page for people", work: "page for people", calls: 1, free: true},
		{name: "truncated", steps: fault(modeltest.TruncatedJSON), bid: "in the middle of the answer", work: "in the middle of the answer", calls: 3, estimated: true},
		{name: "schema", steps: fault(modeltest.WrongSchema), bid: "the model gave no bid", work: "call no tool", calls: 3},
		{name: "empty", steps: fault(modeltest.Empty), bid: "the model gave no bid", work: "call no tool", calls: 3},
		{name: "refusal", steps: []modeltest.Step{{Refusal: "I will not."}}, bid: "I will not.", work: "I will not.", calls: 1},
		{name: "length", steps: []modeltest.Step{{Text: "half", Length: true}}, bid: "the model gave no bid", work: "call no tool", calls: 3},
		{name: "large", steps: fault(modeltest.Large), bid: "too large", work: "too large", calls: 1, estimated: true},
		{name: "endless", steps: fault(modeltest.Endless), bid: "too large", work: "too large", calls: 1, estimated: true},
		{name: "redirect", steps: after(modeltest.Redirect, "Location", "https://elsewhere.example/x"), bid: "redirects", work: "redirects", calls: 1, free: true},
		{name: "no-usage", steps: []modeltest.Step{{Text: "words", NoUsage: true}}, then: true, bid: "model: fine", calls: 2, estimated: true},
		{name: "odd-calls", steps: []modeltest.Step{{Calls: []modeltest.Call{{ID: "1", Name: "finish", Arguments: `{"payload":`}, {ID: "1", Name: "finish", Arguments: "{"}, {ID: "2", Name: "unheard", Arguments: "{}"}}}}, then: true, bid: "model: fine", calls: 2},
	}
}

// faultyProvider plays a fault for the goal that a request names.
type faultyProvider struct {
	mu     sync.Mutex
	played map[string]int // steps, by goal and kind of request
}

func (p *faultyProvider) play(q modeltest.Request) modeltest.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	bid := bytes.Contains(q.Body, []byte("Bid on all."))
	for _, f := range modelFaults() {
		if !bytes.Contains(q.Body, []byte("goal "+f.name+".")) {
			continue
		}
		key := fmt.Sprint(f.name, bid)
		n := p.played[key]
		p.played[key]++
		switch {
		case n < len(f.steps):
			return f.steps[n]
		case !f.then:
			return f.steps[len(f.steps)-1]
		case bid:
			return modeltest.Structured(map[string]string{"bid": "ignore", "reason": "fine"})
		}
		return modeltest.Calls(modeltest.Tool("finish", map[string]any{"summary": "s", "payload": "p", "artefact_type": "Word"}))
	}
	return modeltest.Broken(modeltest.BadRequest)
}

// TestFaultsOfModels: whatever a provider does, through gateway and door, a bid is an ignore
// with the reason, and the work of sett llm ends in a result or in a Failure that says what
// happened, with the account right.
func TestFaultsOfModels(t *testing.T) {
	t.Parallel()
	provider := modeltest.Start(t)
	provider.Key, provider.Play = modelKey, (&faultyProvider{played: map[string]int{}}).play
	key := filepath.Join(t.TempDir(), "key")
	file(t, key, modelKey, 0o600)
	in := prepare(t, options{clan: clan{agents: []agent{{name: "bidder"}, {name: "solo"}}}})
	file(t, filepath.Join(in.repo, "sett.yml"), fmt.Sprintf(`
version: "1.0"
runtime: process
defaults: {llm: {model: m}, workspace: {mode: none}, makes: Word, terminal: true, prompts: {execution: Say a word.}}
agents:
  bidder: {bids: {GoalDefined: model}, prompts: {claim: Bid on all., execution: Say a word.}}
  solo: {bids: {GoalDefined: exclusive}}
models: {m: {api: chat, model: real-name, base_url: %q, api_key_file: %q, retries: 1, timeout: {headers: 4s, idle: 4s}, price: {input: 1, output: 2}}}
`, provider.URL, key), 0o644)
	in.git("commit", "-qam", "models alone")
	in.up()
	goals := map[string]string{}
	for _, f := range modelFaults() {
		goals[f.name] = in.post("goal " + f.name + ".")
	}
	for _, f := range modelFaults() {
		in.await(goals[f.name], enough)
		in.endedAs(goals[f.name], f)
	}
	in.holdsNoKey()
}

// endedAs compares the end of a goal.
func (in *instance) endedAs(goal string, f modelFault) {
	in.t.Helper()
	reason := ""
	for _, e := range in.ledger() {
		if e.Kind == blackboard.EventBid && e.Agent == "bidder" && e.Workflow == goal {
			reason = e.Reason
		}
	}
	if !strings.Contains(reason, f.bid) {
		in.t.Errorf("%s: the bid is ignore because %q, want %q", f.name, reason, f.bid)
	}
	end := ""
	if in.status(goal) != blackboard.WorkflowAchieved {
		end = in.only(goal, "ToolExecutionFailure").Payload
	}
	if (end == "") != (f.work == "") || !strings.Contains(end, f.work) {
		in.t.Errorf("%s: the work ended with %.600q, want %q", f.name, end, f.work)
	}
	s, err := in.board.Calls.Spending(in.t.Context(), goal)
	if err != nil {
		in.t.Fatal(err)
	}
	held := s.Held.Tokens
	for _, spent := range s.Total() {
		if spent.Agent != "solo" {
			continue
		}
		if spent.Calls != f.calls || (spent.Estimated > 0) != f.estimated || (spent.Tokens() == 0) != f.free || held != 0 {
			in.t.Errorf("%s: account %+v, held %d; want %d calls, estimated %v, free %v", f.name, spent, held, f.calls, f.estimated, f.free)
		}
		return
	}
	in.t.Errorf("%s: no account of solo", f.name)
}
