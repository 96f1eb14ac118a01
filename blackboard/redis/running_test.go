package redis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// running returns what runs, in the order of the starts.
func (w *world) running() []string {
	w.Helper()
	all, err := w.b.Roster.Running(w.ctx)
	must(w, err)
	out := make([]string, len(all))
	for i, r := range all {
		out[i] = fmt.Sprintf("%s %s %d", r.Agent, r.Holder, r.Attempt)
		if !r.WaitsSince.IsZero() {
			out[i] += " waits"
		}
	}
	return out
}

// listen collects an agent's notices.
func (w *world) listen(agents ...string) <-chan string {
	w.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	notices, ready, ended := make(chan string, 100), make(chan struct{}, 10), make(chan struct{})
	channels := make([]Channel, len(agents))
	for i, a := range agents {
		channels[i] = AgentEvents(a)
	}
	go func() {
		defer close(ended)
		_ = w.b.Subscribe(ctx, channels, func() { ready <- struct{}{} },
			func(ch Channel, id string) { notices <- strings.TrimPrefix(ch.id, "agent ") + " " + id }, func(error) {})
	}()
	w.Cleanup(func() { cancel(); <-ended })
	select {
	case <-ready:
	case <-w.ctx.Done():
		w.Fatal("no subscription")
	}
	return notices
}

func (w *world) next(notices <-chan string) string {
	w.Helper()
	select {
	case n := <-notices:
		return n
	case <-w.ctx.Done():
		w.Fatal("no notice came")
		return ""
	}
}

// A grant is among the running ones from its start to its end, whatever ends it.
func TestRunning(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		goals := func(claim string) string { return w.snapshot(claim).Claim.WorkflowID }
		for what, end := range map[string]func(c blackboard.Claim, ref blackboard.GrantRef) error{
			"a result": func(c blackboard.Claim, ref blackboard.GrantRef) error {
				return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: result(c, "a", blackboard.Standard, "X", "")})
			},
			"a question": func(c blackboard.Claim, ref blackboard.GrantRef) error {
				return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: result(c, "a", blackboard.Question, "Q", "?")})
			},
			"handed back": func(_ blackboard.Claim, ref blackboard.GrantRef) error {
				return w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref, Most: 10, Reason: "stopped"})
			},
			"retried": func(_ blackboard.Claim, ref blackboard.GrantRef) error {
				return w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died")
			},
			"failed": func(c blackboard.Claim, ref blackboard.GrantRef) error {
				return w.b.Leader.FailGrant(w.ctx, w.epoch, ref, "died", failure(c.WorkflowID, blackboard.TypeAgentCrashed))
			},
			"the claim's end": func(c blackboard.Claim, _ blackboard.GrantRef) error {
				return w.b.Leader.TerminateClaim(w.ctx, w.guard(c.ID), "cancelled", nil, nil)
			},
			"cancelled with its goal": func(c blackboard.Claim, _ blackboard.GrantRef) error {
				return w.b.People.CancelWorkflow(w.ctx, goals(c.ID), cancelled(goals(c.ID), "", goals(c.ID)), "ann", "x")
			},
		} {
			claim := w.granted(blackboard.PhaseExclusive, "a")
			st, ref := w.start(claim, "a", "h")
			st.Claim.ID = claim
			wantList(t, what+": before", w.running(), "a h 1")
			if err := end(st.Claim, ref); err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			wantList(t, what, w.running())
		}
	})
}

// An entry that outlived its run, as in a damaged index, goes when its holder is dead.
func TestRunningWithoutGrant(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		_, ref := w.run(claim, "a")
		entry := w.raw("HGET", w.b.c.Keys.Running(), claim+":a")
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "cancelled", nil, nil))
		w.raw("HSET", w.b.c.Keys.Running(), claim+":a", entry[0])
		wantList(t, "running", w.running(), "a h-a 1")
		must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
		wantList(t, "after its holder's end", w.running())
	})
}

// Two agents of a claim run at the same time, whatever they do in their trees.
func TestRunSideBySide(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		w.run(claim, "a")
		w.run(claim, "b")
		wantList(t, "running", w.running(), "a h-a 1", "b h-b 1")
	})
}

// The orchestrator finds what a Sett of before ran, and lets go of it.
func TestRunningOfBefore(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		_, ref := w.run(claim, "a")
		w.raw("DEL", w.b.c.Keys.Running())
		w.raw("HSET", w.b.c.Keys.Workspace(), "hold:"+claim+":a",
			`{"claim":"`+claim+`","agent":"a","mode":"rw","since":"1700000000000000","holder":"h-a","attempt":1,"base":"c0ffee","branch":"main","state":"held"}`,
			"wait:C:b", `{"claim":"C","agent":"b","mode":"rw","since":"1700000000000000"}`)
		wantList(t, "running", w.running(), "a h-a 1")
		must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
		wantList(t, "after its holder's end", w.running())
	})
}

// The ledger and the grant tell the commit that a tool's tree started from.
func TestGrantKeepsBase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		const commit = "1234567890123456789012345678901234567890"
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		c, a := w.run(claim, "a")
		_, b := w.run(claim, "b")
		must(t, w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: b, Most: 10, Reason: "stopped", Base: commit}))
		if e := w.lastEvent(); e.Attributes["base"] != commit {
			t.Errorf("handed back: %+v", e)
		}
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: a, Artefact: result(c, "a", blackboard.Standard, "X", ""), Base: commit, Unmerged: []string{"P1", "P2"}}))
		if e := w.lastEvent(); e.Kind != blackboard.EventResult || e.Attributes["base"] != commit || e.Attributes["unmerged"] != "P1 P2" {
			t.Errorf("result: %+v", e)
		}
		if g, _ := w.snapshot(claim).Grant("a"); g.Base != commit || !slices.Equal(g.Unmerged, []string{"P1", "P2"}) || g.State != blackboard.GrantDone {
			t.Errorf("the grant: %+v", g)
		}
	})
}
