package gateway

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/boardtest"
	"sett/contract/env"
	"sett/contract/model"
	line "sett/roles/role/gateway"
	"sett/roles/role/modeltest"
)

// question is the body of a request with one message.
func question(text string) string {
	return `{"model":"any","messages":[{"role":"user","content":"` + text + `"}]}`
}

// TestRecordAndReplay: what was recorded is answered without a provider, in order, at the
// same price; anything else is refused with the nearest request.
func TestRecordAndReplay(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tape")
	usage := &model.Usage{Input: 7, Output: 3}
	p := newPlace(t, func(g *env.Gateway) { g.Models[0].Record = dir },
		modeltest.Step{Text: "first", Usage: usage}, modeltest.Step{Text: "second", Usage: usage}, modeltest.Step{Text: "in a stream", Usage: usage}, broken(modeltest.BadRequest))
	asks := []ask{{body: question("a")}, {body: question("a")}, {stream: true}, {body: question("too much")}}
	var recorded []reply
	for _, a := range asks {
		recorded = append(recorded, p.ask(a))
	}
	checkFiles(t, dir)

	q := newPlace(t, func(g *env.Gateway) {
		g.Models[0].Replay, g.Models[0].BaseURL, g.Models[0].Model, g.Keys = dir, "", "another name", ""
	})
	for i, a := range asks {
		if got := q.ask(a); got.status != recorded[i].status || got.body != recorded[i].body || got.err != nil {
			t.Errorf("%d: got %v, want %v", i, got, recorded[i])
		}
	}
	if n := len(q.mock.Requests()); n != 0 {
		t.Errorf("the provider got %d requests", n)
	}
	if got, want := q.only(), p.only(); got.Usage != want.Usage || got.Calls != want.Calls || got.Cost != want.Cost {
		t.Errorf("account %+v, want %+v", got, want)
	}
	if got := q.ask(ask{stream: true, more: `"stream_options":{"include_usage":true},`}); got.status != http.StatusConflict {
		t.Errorf("once more: %v", got) // with its usage it is the same request
	}
	got := q.ask(ask{body: question("a")})
	if got.status != http.StatusConflict || got.refused() != line.Replay || !strings.Contains(got.body, "has 2 answers") {
		t.Errorf("a third time: %v", got)
	}
	got = q.ask(ask{body: question("too little")})
	why, _ := line.ReadRefusal(got.header)
	if got.status != http.StatusConflict || why.Why != line.Replay || !strings.Contains(why.Message, `- "content": "too much"`) || !strings.Contains(why.Message, `+ "content": "too little"`) {
		t.Errorf("an unknown one: %v", why.Message)
	}
	if got := q.ask(ask{api: model.Messages}); got.status != http.StatusConflict || !strings.Contains(got.body, "no request to /v1/messages") {
		t.Errorf("another path: %v", got)
	}
	if s := q.spent(); s.Held.Tokens != 0 || s.Tokens != p.spent().Tokens {
		t.Errorf("account %+v", s)
	}
}

// TestReplayIgnores: patterns leave out what differs from run to run.
func TestReplayIgnores(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tape")
	ignore := []string{`\d{4}-\d\d-\d\d`, `id-[a-z]+`}
	p := newPlace(t, func(g *env.Gateway) { g.Models[0].Record, g.Models[0].Ignore = dir, ignore }, modeltest.Text("ok"))
	p.ask(ask{body: question("today is 2026-11-23, id-abc")})
	q := newPlace(t, func(g *env.Gateway) { g.Models[0].Replay, g.Models[0].Ignore = dir, ignore })
	if got := q.ask(ask{body: question("today is 2027-01-01, id-xyz")}); got.status != http.StatusOK || !strings.Contains(got.body, "ok") {
		t.Error(got)
	}
	if got := q.ask(ask{body: question("tomorrow is 2027-01-01, id-xyz")}); got.status != http.StatusConflict {
		t.Error(got)
	}
}

// crash ends the grant's attempt, as when its holder died, and begins the next one.
func (p *place) crash() {
	p.t.Helper()
	g, _ := p.board.Snapshot(p.claim).Grant("coder")
	ref := blackboard.GrantRef{Claim: p.claim, Agent: "coder", Attempt: g.Attempt, Holder: g.Holder}
	p.board.Must(p.board.Moves.Leader.RetryGrant(p.board.Ctx, p.board.Epoch, ref, "killed"))
	p.board.Begin(p.claim, "coder", holder)
}

// TestResumeForFree: a new attempt gets what the attempts before it paid for, and pays
// for the rest.
func TestResumeForFree(t *testing.T) {
	dir := t.TempDir()
	p := newPlace(t, func(g *env.Gateway) { g.Answers = dir },
		modeltest.Text("one"), modeltest.Text("two"), modeltest.Text("two again"), broken(modeltest.BadRequest), modeltest.Text("three"), modeltest.Text("four"))
	first := []reply{p.ask(ask{body: question("1")}), p.ask(ask{stream: true}), p.ask(ask{stream: true}), p.ask(ask{body: question("3")})}
	if first[3].status != http.StatusBadRequest || p.spent().Calls != 4 {
		t.Fatal(first[3], p.spent())
	}
	before := p.spent().Tokens
	p.crash()
	p.start(func(g *env.Gateway) { g.Answers = dir }) // the gateway was killed, too
	for i, a := range []ask{{body: question("1")}, {stream: true}, {stream: true}} {
		a.attempt = 2
		if got := p.ask(a); got.status != http.StatusOK || got.body != first[i].body {
			t.Errorf("%d: %v, want %v", i, got, first[i])
		}
	}
	if p.spent().Calls != 4 || p.spent().Tokens != before || len(p.mock.Requests()) != 4 {
		t.Errorf("it was paid for again: %+v", p.spent())
	}
	if got := p.ask(ask{body: question("3"), attempt: 2}); !strings.Contains(got.body, "three") {
		t.Errorf("an error was kept: %v", got)
	}
	if got := p.ask(ask{body: question("1"), attempt: 2}); !strings.Contains(got.body, "four") {
		t.Errorf("the same request again: %v", got)
	}
	p.crash()
	for _, want := range []string{"one", "four"} { // of attempts 1 and 2
		if got := p.ask(ask{body: question("1"), attempt: 3}); !strings.Contains(got.body, want) {
			t.Errorf("third attempt: %v, want %s", got, want)
		}
	}
	if p.spent().Calls != 6 || p.spent().Held.Tokens != 0 {
		t.Errorf("account %+v", p.spent())
	}
	if got := p.ask(ask{body: question("new"), attempt: 1}); got.refused() != line.NotRunning {
		t.Errorf("an attempt that is over: %v", got)
	}
}

// TestBidIsNotPaidTwice: the call for a bid, repeated after a crash, gets its answer.
func TestBidIsNotPaidTwice(t *testing.T) {
	dir := t.TempDir()
	p := newPlace(t, func(g *env.Gateway) { g.Answers = dir }, modeltest.Text("one"), modeltest.Text("two"))
	id := boardtest.NewID()
	one := p.ask(ask{bid: true, id: id})
	if got := p.ask(ask{bid: true, id: id}); one.status != http.StatusOK || got.body != one.body {
		t.Errorf("got %v, want %v", got, one)
	}
	if got := p.ask(ask{bid: true}); !strings.Contains(got.body, "two") {
		t.Errorf("another call: %v", got)
	}
	if p.spent().Calls != 2 {
		t.Errorf("account %+v", p.spent())
	}
}

// TestTidy: kept answers go with time.
func TestTidy(t *testing.T) {
	dir := t.TempDir()
	a := newAnswers(dir)
	for _, claim := range []string{"OLD", "NEW"} {
		if err := a.put(blackboard.Call{ID: "x", Claim: claim, Agent: "a", Attempt: 1}, "key", taped{Status: 200, Attempt: 1}); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-longestKept - time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "OLD.a", "key-0.json"), old, old); err != nil {
		t.Fatal(err)
	}
	if err := a.tidy(time.Now()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 || filepath.Base(left[0]) != "NEW.a" {
		t.Errorf("left: %v", left)
	}
}
