package redis

import (
	"errors"
	"strings"
	"testing"

	"sett/blackboard"
)

// Bids that may not be: none of them leaves a trace.
func TestBidRefusals(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "a", "b")
		must(t, w.bid(claim, "a", blackboard.BidIgnore))
		for name, tc := range map[string]struct {
			claim, agent string
			bid          blackboard.BidType
			why          string
		}{
			"changed bid":   {claim, "a", blackboard.BidExclusive, "it has bid ignore"},
			"unknown agent": {claim, "stranger", blackboard.BidExclusive, "does not expect a bid of stranger"},
			"no such claim": {newID(), "a", blackboard.BidIgnore, "no such claim"},
			"not an id":     {"\xff nonsense", "a", blackboard.BidIgnore, "no such claim"},
		} {
			var err error
			w.refuses(name, blackboard.ErrRefused, func() error { err = w.bid(tc.claim, tc.agent, tc.bid); return err })
			if err != nil && !strings.Contains(err.Error(), tc.why) {
				t.Errorf("%s: %v", name, err)
			}
		}
		must(t, w.bid(claim, "b", blackboard.BidIgnore))
		w.twice("bid of an earlier run", func() error { return w.bid(claim, "b", blackboard.BidIgnore) })
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), "nobody wants it"))
		w.twice("the same bid on a closed claim", func() error { return w.bid(claim, "a", blackboard.BidIgnore) })
	})
}

// A bid after the bidding is refused and no longer asked for.
func TestBidAfterBidding(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "a", "b")
		must(t, w.bid(claim, "a", blackboard.BidExclusive))
		w.grant(claim, blackboard.PhaseExclusive, "a")
		wantError(t, "bid", w.bid(claim, "b", blackboard.BidExclusive), blackboard.ErrRefused)
		work, err := w.b.Index.OpenAgentWork(w.ctx, "b")
		must(t, err)
		wantList(t, "due", work.Due)
		if w.snapshot(claim).HasBid("b") {
			t.Error("the bid was recorded")
		}
	})
}

// One bid that is refused does not keep the others out.
func TestBidsInOneTrip(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "a", "b", "c")
		each, err := w.b.Cub.SubmitBids(w.ctx, []blackboard.BidRequest{
			{Claim: claim, Agent: "b", Bid: blackboard.BidReview, Reason: "", Relies: nil}, {Claim: claim, Agent: "stranger", Bid: blackboard.BidReview, Reason: "", Relies: nil}, {Claim: claim, Agent: "a", Bid: blackboard.BidExclusive, Reason: "", Relies: nil},
		})
		must(t, err)
		if each[0] != nil || each[2] != nil {
			t.Errorf("bids: %v", each)
		}
		wantError(t, "stranger", each[1], blackboard.ErrRefused)
		snap := w.snapshot(claim)
		if len(snap.Bids) != 2 || snap.Bids[0].Agent != "b" || snap.Bids[1].Agent != "a" {
			t.Errorf("bids in order: %+v", snap.Bids)
		}
		wantList(t, "missing", snap.Missing(), "c")
	})
}

// Silence becomes a bid, once, and no bid is overwritten by it.
func TestRecordIgnores(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "a", "b")
		must(t, w.bid(claim, "a", blackboard.BidReview))
		guard := w.guard(claim)
		must(t, w.b.Leader.RecordIgnores(w.ctx, guard, []string{"a", "b"}, "bid_timeout"))
		w.refuses("silence twice", blackboard.ErrStale, func() error {
			return w.b.Leader.RecordIgnores(w.ctx, guard, []string{"b"}, "bid_timeout")
		})
		snap := w.snapshot(claim)
		if len(snap.Bids) != 2 || snap.Bids[0].Type != blackboard.BidReview || snap.Bids[1].Type != blackboard.BidIgnore {
			t.Errorf("bids %+v", snap.Bids)
		}
		if e := w.lastEvent(); e.Kind != blackboard.EventBid || e.Reason != "bid_timeout" || e.To != "ignore" {
			t.Errorf("ledger %+v", e)
		}
		wantError(t, "a bid after that", w.bid(claim, "b", blackboard.BidExclusive), blackboard.ErrRefused)
	})
}

// Only Standard artefacts that exist get a claim, and only one.
func TestOpenClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseReview, "r")
		review := w.finish(claim, "r", blackboard.Review, "Review", "{}")
		for name, id := range map[string]string{"a review": review.ID, "nothing": newID()} {
			w.refuses(name, nil, func() error {
				o, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, id, []string{"a"}, 0)
				if o != blackboard.NotClaimable {
					t.Errorf("open claim on %s: %s", name, o)
				}
				return err
			})
		}
		g := w.goal()
		w.refuses("stale epoch", blackboard.ErrStale, func() error {
			_, _, err := w.b.Leader.OpenClaim(w.ctx, "99", g.ID, nil, 0)
			return err
		})
		w.twice("nobody to bid", func() error { w.open(g.ID); return nil })
		if c := w.snapshot(blackboard.BiddingClaimID(g.ID)).Claim; len(c.ExpectedBidders) != 0 || c.Origin != blackboard.OriginArtefact {
			t.Errorf("claim %+v", c)
		}
	})
}

// A workflow over its limit gets no more claims, one Failure, and ends.
func TestLimit(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		goalID := w.snapshot(claim).Claim.WorkflowID
		x, y := w.finish(claim, "a", blackboard.Standard, "X", ""), w.finish(claim, "b", blackboard.Standard, "Y", "")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		for _, a := range []blackboard.Artefact{x, y} {
			o, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, a.ID, []string{"a"}, 2)
			must(t, err)
			if o != blackboard.OverLimit {
				t.Errorf("open: %s", o)
			}
		}
		work, err := w.b.Index.OpenWork(w.ctx)
		must(t, err)
		wantList(t, "unclaimed, in their old order", work.Unclaimed, x.ID, y.ID)
		f := failure(goalID, blackboard.TypeWorkflowLimit)
		f.ID = blackboard.DerivedArtefactID(blackboard.TypeWorkflowLimit, goalID)
		w.refuses("stale epoch", blackboard.ErrStale, func() error { return w.b.Leader.RefuseClaim(w.ctx, "99", x.ID, "limit", f) })
		w.twice("refuse", func() error { return w.b.Leader.RefuseClaim(w.ctx, w.epoch, x.ID, "limit", f) })
		if wf := w.workflow(goalID); wf.Status != blackboard.WorkflowActive || wf.Outstanding != 1 || wf.Failures != 1 {
			t.Errorf("after the first: %+v", wf)
		}
		if e := w.lastEvent(); e.Attributes["result"] != f.ID || e.Attributes["result_type"] != f.Type || e.Attributes["sha256"] == "" {
			t.Errorf("ledger %+v, want the Failure", e)
		}
		w.twice("refuse the other", func() error { return w.b.Leader.RefuseClaim(w.ctx, w.epoch, y.ID, "limit", f) })
		wf := w.workflow(goalID)
		if wf.Status != blackboard.WorkflowFailed || wf.Outstanding != 0 || wf.Failures != 1 || wf.FailureID != f.ID || wf.EndedAt.IsZero() {
			t.Errorf("at the end: %+v", wf)
		}
		if e := w.lastEvent(); e.Kind != blackboard.EventRefuse || e.Attributes["workflow_status"] != "failed" || len(e.Attributes) != 1 {
			t.Errorf("ledger %+v, want no Failure: it was written before", e)
		}
	})
}

// What people and reviewers say, and tries that failed, do not count towards the limit; with a higher limit a goal that
// was ended by it goes on when it is tried again, once, and may be ended by it again.
func TestLimitIsTriedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		goal := w.snapshot(claim).Claim.WorkflowID
		for range 3 {
			w.fail(claim, "a")
			again := newID()
			must(t, w.b.People.Retry(w.ctx, claim, again, "ann", ""))
			claim = again
		}
		x := w.finish(claim, "a", blackboard.Standard, "X", "")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		opens := func(a blackboard.Artefact, limit int) blackboard.Opening {
			t.Helper()
			o, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, a.ID, []string{"a"}, limit)
			must(t, err)
			return o
		}
		if wf := w.workflow(goal); wf.Artefacts != 5 {
			t.Fatalf("%+v", wf)
		}
		w.countsHold(goal)
		first, second := failure(goal, blackboard.TypeWorkflowLimit), failure(goal, blackboard.TypeWorkflowLimit)
		if o := opens(x, 1); o != blackboard.OverLimit {
			t.Errorf("the goal and X, of one: %s", o)
		}
		must(t, w.b.Leader.RefuseClaim(w.ctx, w.epoch, x.ID, "limit", first))
		retry := func(f blackboard.Artefact, word string, limit int) func() error {
			return func() error {
				return w.b.People.RetryGoal(w.ctx, blackboard.GoalRetry{Workflow: goal, Failure: f.ID, Type: f.Type, Word: word, MaxArtefacts: limit}, "ann", "")
			}
		}
		w.refuses("the same limit", blackboard.ErrRefused, retry(first, "w1", 1))
		if wf := w.workflow(goal); wf.Status != blackboard.WorkflowFailed || wf.Failures != 1 {
			t.Errorf("ended: %+v", wf)
		}
		w.twice("retry", retry(first, "w1", 2))
		w.refuses("a retry beside it", blackboard.ErrRefused, retry(first, "w2", 2))
		wf := w.workflow(goal)
		if wf.Status != blackboard.WorkflowActive || wf.Failures != 0 || wf.FailureID != "" || wf.Outstanding != 1 || !wf.HasRetried(first.ID) {
			t.Errorf("tried again: %+v", wf)
		}
		w.countsHold(goal)
		w.refuses("the Failure that was tried again", blackboard.ErrRefused, func() error { return w.b.Leader.RefuseClaim(w.ctx, w.epoch, x.ID, "limit", first) })
		must(t, w.b.Leader.RefuseClaim(w.ctx, w.epoch, x.ID, "limit", second))
		if wf := w.workflow(goal); wf.Status != blackboard.WorkflowFailed || wf.Failures != 1 || wf.FailureID != second.ID {
			t.Errorf("ended again: %+v", wf)
		}
		must(t, retry(second, "w3", 0)())
		if o := opens(x, 2); o != blackboard.Opened {
			t.Errorf("the goal and X, of two: %s", o)
		}
	})
}

// Decisions on an old state, or by somebody who no longer leads.
func TestStaleDecisions(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "a")
		old := w.guard(claim)
		must(t, w.bid(claim, "a", blackboard.BidExclusive))
		now := w.guard(claim)
		usurper := now
		usurper.Epoch = "7"
		f := failure(claim, blackboard.TypeReviewLimit)
		for name, decide := range map[string]func(blackboard.Guard) error{
			"ignore": func(g blackboard.Guard) error { return w.b.Leader.RecordIgnores(w.ctx, g, []string{"a"}, "") },
			"grant": func(g blackboard.Guard) error {
				return w.b.Leader.GrantPhase(w.ctx, g, blackboard.PhaseReview, []string{"a"})
			},
			"complete":  func(g blackboard.Guard) error { return w.b.Leader.CompleteClaim(w.ctx, g, "") },
			"terminate": func(g blackboard.Guard) error { return w.b.Leader.TerminateClaim(w.ctx, g, "", &f, nil) },
		} {
			w.refuses(name+" on an old revision", blackboard.ErrStale, func() error {
				err := decide(old)
				if errors.Is(err, blackboard.ErrNotLeader) {
					t.Errorf("%s: %v", name, err)
				}
				return err
			})
			w.refuses(name+" with an old epoch", blackboard.ErrNotLeader, func() error { return decide(usurper) })
			w.refuses(name+" on nothing", blackboard.ErrStale, func() error { return decide(blackboard.Guard{Epoch: w.epoch, Claim: newID(), Revision: 1, Bids: nil}) })
		}
	})
}

// The grants of a phase are the claim's record of it.
func TestGrantPhases(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.open(w.goal().ID, "r1", "r2", "p", "x")
		w.grant(claim, blackboard.PhaseReview, "r1", "r2")
		w.finish(claim, "r1", blackboard.Review, "Review", "{}")
		w.finish(claim, "r2", blackboard.Review, "Review", " []\n")
		w.grant(claim, blackboard.PhaseParallel, "p")
		w.finish(claim, "p", blackboard.Terminal, "Report", "done")
		w.grant(claim, blackboard.PhaseExclusive, "x")
		c := w.snapshot(claim)
		wantList(t, "review", c.Claim.GrantedReviewAgents, "r1", "r2")
		wantList(t, "parallel", c.Claim.GrantedParallelAgents, "p")
		if c.Claim.GrantedExclusiveAgent != "x" || c.Claim.Status != blackboard.PendingExclusive {
			t.Errorf("claim %+v", c.Claim)
		}
		for i, want := range []blackboard.Grant{
			{Agent: "p", Phase: blackboard.PhaseParallel, State: blackboard.GrantDone},
			{Agent: "r1", Phase: blackboard.PhaseReview, State: blackboard.GrantDone, Verdict: blackboard.Approve},
			{Agent: "r2", Phase: blackboard.PhaseReview, State: blackboard.GrantDone, Verdict: blackboard.Approve},
			{Agent: "x", Phase: blackboard.PhaseExclusive, State: blackboard.GrantQueued},
		} {
			g := c.Grants[i]
			if g.Agent != want.Agent || g.Phase != want.Phase || g.State != want.State || g.Verdict != want.Verdict || g.Attempt != 1 {
				t.Errorf("grant %+v, want %+v", g, want)
			}
		}
	})
}
