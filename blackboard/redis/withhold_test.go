package redis

import (
	"slices"
	"testing"
	"time"

	"sett/blackboard"
)

// An agent's word that the call for its bid is withheld is on the board and in the ledger, begun and ended once. It is
// refused where no bid is due, and a decision about its silence from before comes too late.
func TestWithhold(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "a", "b")
		hold := func(agent string, kind blackboard.WithheldKind, why string) func() error {
			return func() error { return w.b.Cub.Withhold(w.ctx, claim, agent, kind, why) }
		}
		before := w.guard(claim)
		w.twice("withhold", hold("a", blackboard.WithheldPaused, "all calls are paused"))
		is := w.snapshot(claim).Claim.Withheld
		if got := is["a"]; len(is) != 1 || got.Kind != blackboard.WithheldPaused || got.Why != "all calls are paused" || got.Since.IsZero() {
			t.Errorf("withheld: %+v", is)
		}
		if e := w.lastEvent(); e.Kind != blackboard.EventWait || e.Reason != "paused" || e.To != "" || e.Agent != "a" || e.Claim != claim || e.Workflow == "" {
			t.Errorf("ledger: %+v", e)
		}
		w.refuses("ignore", blackboard.ErrStale, func() error { return w.b.Leader.RecordIgnores(w.ctx, before, []string{"a"}, "bid_timeout") })

		entry := w.lastEvent()
		w.twice("another reason", hold("a", blackboard.WithheldPaused, ""))
		if got := w.snapshot(claim).Claim.Withheld["a"]; got.Why != "" || !got.Since.Equal(is["a"].Since) || w.lastEvent().ID != entry.ID {
			t.Errorf("withheld: %+v, ledger: %+v", got, w.lastEvent())
		}
		w.twice("another kind", hold("a", blackboard.WithheldBudget, "it is used up"))
		if got, e := w.snapshot(claim).Claim.Withheld["a"], w.lastEvent(); got.Kind != blackboard.WithheldBudget || !got.Since.Equal(is["a"].Since) || e.Reason != "budget" {
			t.Errorf("withheld: %+v, ledger: %+v", got, e)
		}
		w.twice("its end", hold("a", "", ""))
		if e := w.lastEvent(); len(w.snapshot(claim).Claim.Withheld) != 0 || e.Reason != "budget" || e.To != "over" {
			t.Errorf("withheld: %+v, ledger: %+v", w.snapshot(claim).Claim.Withheld, e)
		}

		w.refuses("a stranger", blackboard.ErrRefused, hold("stranger", blackboard.WithheldPaused, ""))
		must(t, w.bid(claim, "b", blackboard.BidReview))
		w.refuses("after its bid", blackboard.ErrRefused, hold("b", blackboard.WithheldPaused, ""))
		must(t, hold("a", blackboard.WithheldBudget, "x")())
		must(t, w.bid(claim, "a", blackboard.BidIgnore))
		w.grant(claim, blackboard.PhaseReview, "b")
		w.refuses("of no claim", blackboard.ErrRefused, func() error {
			return w.b.Cub.Withhold(w.ctx, blackboard.BiddingClaimID(claim), "a", blackboard.WithheldPaused, "")
		})
	})
}

// A claim that only waits for bids that are withheld is suspended, and its goal waits for people alone: the entry says so,
// for each order in which bids come and are withheld, also after a change of the leader. A person's feedback takes it on.
func TestWithheldIsSuspended(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "a", "b", "c")
		hold := func(agent string, kind blackboard.WithheldKind) {
			t.Helper()
			must(t, w.b.Cub.Withhold(w.ctx, claim, agent, kind, "why"))
		}
		check := func(when string, people bool) {
			t.Helper()
			w.weighed(claim, map[bool]int{true: 1}[people], 0)
			if wf := w.workflow(w.goalOf(claim)); wf.OnlyPeople() != people {
				t.Errorf("%s: %+v waits for people alone: %v", when, wf, !people)
			}
			if e := w.lastEvent(); e.OnlyPeople() != people {
				t.Errorf("%s: ledger: %+v", when, e)
			}
		}
		hold("a", blackboard.WithheldPaused)
		check("others are to bid", false)
		must(t, w.bid(claim, "b", blackboard.BidReview))
		check("one is to bid", false)
		hold("c", blackboard.WithheldBudget)
		check("none is to bid", true)
		hold("c", "")
		check("it may be asked", false)
		must(t, w.bid(claim, "c", blackboard.BidIgnore))
		check("the others have bid", true)

		w.raw("HDEL", w.b.c.Keys.Workflow(w.goalOf(claim)), "suspended")
		must(t, w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}, 0))
		epoch, _, err := w.b.Leader.TakeLead(w.ctx, "next", "", time.Hour)
		must(t, err)
		w.epoch = epoch.Epoch
		w.weighed(claim, 1, 0)

		must(t, w.b.Leader.RecordIgnores(w.ctx, w.guard(claim), []string{"a"}, "agent_removed"))
		check("the agent has left", false)

		claim = w.open(w.goal().ID, "a", "b")
		hold("a", blackboard.WithheldPaused)
		must(t, w.b.Leader.RecordIgnores(w.ctx, w.guard(claim), []string{"b"}, "bid_timeout"))
		check("another was silent", true)
		must(t, w.bid(claim, "a", blackboard.BidIgnore))
		check("all have bid", false)

		claim = w.open(w.goal().ID, "a")
		hold("a", blackboard.WithheldPaused)
		check("the only one", true)
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "it is enough", nil, nil))
		if wf := w.workflow(w.goalOf(claim)); wf.Suspended != 0 || wf.OnlyPeople() {
			t.Errorf("ended: %+v", wf)
		}
	})
}

// A claim whose grants wait for their model is suspended while no other works, whatever begins or ends the wait: also
// after a change of the leader, beside a question and a conflict, and in any order. Go says the same.
func TestWaitForModelIsSuspended(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b", "c")
		c, a := w.run(claim, "a")
		_, b := w.run(claim, "b")
		wait := func(ref blackboard.GrantRef, what blackboard.WaitKind) {
			t.Helper()
			w.twice("await", func() error { return w.b.Cub.Await(w.ctx, ref, what, "why") })
		}
		check := func(when string, suspended, blocked int) {
			t.Helper()
			w.weighed(claim, suspended, blocked)
			if wf, e := w.workflow(c.WorkflowID), w.lastEvent(); wf.OnlyPeople() != (suspended > 0) || e.OnlyPeople() != (suspended > 0) {
				t.Errorf("%s: %+v, ledger: %+v", when, wf, e)
			}
		}
		wait(a, blackboard.WaitModel)
		if e := w.lastEvent(); !e.WaitsForModel() || e.Agent != "a" || e.Claim != claim || e.Workflow != c.WorkflowID {
			t.Errorf("ledger: %+v", e)
		}
		if all := w.running(); !slices.Contains(all, "a h-a 1") { // it is no wait for the repository
			t.Errorf("running: %q", all)
		}
		check("others are to work", 0, 0)
		wait(b, blackboard.WaitModel)
		check("one is in line", 0, 0)
		_, third := w.run(claim, "c")
		check("one works", 0, 0)
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: third, Artefact: result(c, "c", blackboard.Terminal, "X", "")}))
		check("none works", 1, 0)

		w.raw("HDEL", w.b.c.Keys.Workflow(c.WorkflowID), "suspended")
		must(t, w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}, 0))
		epoch, _, err := w.b.Leader.TakeLead(w.ctx, "next", "", time.Hour)
		must(t, err)
		w.epoch = epoch.Epoch
		w.weighed(claim, 1, 0)

		wait(b, blackboard.WaitRepository)
		check("one waits for the repository", 0, 0)
		wait(b, blackboard.WaitModel)
		check("it waits for its model again", 1, 0)
		must(t, w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: a, Most: 10, Reason: "stopped"}))
		check("one was handed back", 0, 0)
		_, a = w.run(claim, "a")
		wait(a, blackboard.WaitModel)
		check("it waits anew", 1, 0)
		must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, a, "it crashed"))
		check("one crashed", 0, 0)
		_, a = w.run(claim, "a")
		must(t, w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: a, Conflict: conflictOf(c, "bb")}))
		w.weighed(claim, 1, 0)
		wait(b, "")
		w.weighed(claim, 0, 0)
		wait(b, blackboard.WaitModel)
		w.weighed(claim, 1, 0)
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: b, Artefact: result(c, "b", blackboard.Question, "Q", "?")}))
		w.weighed(claim, 1, 0)
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "it is enough", nil, nil))
		w.weighed(claim, 0, 0)
	})
}
