package redis

import (
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
