package redis

import (
	"strings"
	"testing"

	"sett/blackboard"
)

// fail lets an agent fail, and the claim with it.
func (w *world) fail(claim string, agents ...string) {
	w.Helper()
	for _, agent := range agents {
		w.finish(claim, agent, blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
	}
	must(w.TB, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "failed", nil, nil))
}

// A retry keeps bids and what is done, and queues the rest; the goal is active
// again, and its Failures no longer count.
func TestRetry(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		g := w.goal()
		claim := w.open(g.ID, "a", "b", "c", "r")
		must(t, w.bid(claim, "r", blackboard.BidReview))
		for _, agent := range []string{"c", "a", "b"} {
			must(t, w.bid(claim, agent, blackboard.BidClaim))
		}
		w.grant(claim, blackboard.PhaseReview, "r")
		w.finish(claim, "r", blackboard.Review, "Review", "{}")
		w.grant(claim, blackboard.PhaseParallel, "c", "a", "b")
		kept := w.finish(claim, "c", blackboard.Standard, "Code", "x")
		w.fail(claim, "a", "b")
		if wf := w.workflow(g.ID); wf.Failures != 2 {
			t.Fatalf("workflow %+v", wf)
		}
		again := newID()
		w.twice("retry", func() error { return w.b.People.Retry(w.ctx, claim, again, "ann", "the disk was full") })
		snap := w.snapshot(again)
		c := snap.Claim
		if c.Status != blackboard.PendingParallel || c.Origin != blackboard.OriginRetry || c.RetryOf != claim || c.Rework ||
			c.ArtefactID != g.ID || len(c.GrantedParallelAgents) != 3 {
			t.Errorf("claim %+v", c)
		}
		if len(snap.Bids) != 4 || snap.Bids[0].Agent != "r" || snap.Bids[1].Agent != "c" {
			t.Errorf("bids %+v", snap.Bids)
		}
		for agent, want := range map[string]blackboard.GrantState{
			"r": blackboard.GrantDone, "c": blackboard.GrantDone, "a": blackboard.GrantQueued, "b": blackboard.GrantQueued,
		} {
			attempt, failed := 1, false
			if want == blackboard.GrantQueued { // it goes on counting, and knows the Failure before
				attempt, failed = 2, true
			}
			g := w.grantOf(again, agent)
			if g.State != want || g.Attempt != attempt || (agent == "c") != (g.ResultID == kept.ID) || failed != (g.Failure != "") || failed != (g.Why != "") {
				t.Errorf("%s: %+v", agent, g)
			}
		}
		if old := w.snapshot(claim).Claim; old.RetriedAs != again {
			t.Errorf("the claim before: %+v", old)
		}
		wf := w.workflow(g.ID)
		if wf.Status != blackboard.WorkflowActive || wf.Failures != 0 || wf.FailureID != "" || !wf.EndedAt.IsZero() {
			t.Errorf("workflow %+v", wf)
		}
		if e := w.lastEvent(); e.Kind != blackboard.EventRetry || e.Attributes["by"] != "ann" || e.Attributes["retry_of"] != claim || e.Reason != "the disk was full" {
			t.Errorf("ledger %+v", e)
		}
		w.refuses("another retry", blackboard.ErrRefused, func() error { return w.b.People.Retry(w.ctx, claim, newID(), "bob", "") })
		w.finish(again, "a", blackboard.Terminal, "End", "")
		w.finish(again, "b", blackboard.Terminal, "End", "")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(again), ""))
		k := w.open(kept.ID, "a")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(k), ""))
		if wf := w.workflow(g.ID); wf.Status != blackboard.WorkflowAchieved {
			t.Errorf("at the end: %+v", wf)
		}
	})
}

// A claim that was cancelled while agents bid is bid on further.
func TestRetryOfBidding(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		g := w.goal()
		claim := w.open(g.ID, "a", "b")
		must(t, w.bid(claim, "a", blackboard.BidExclusive))
		must(t, w.b.People.CancelClaim(w.ctx, claim, cancelled(g.ID, claim, g.ID), "ann", "wait"))
		again := newID()
		must(t, w.b.People.Retry(w.ctx, claim, again, "ann", ""))
		work, err := w.b.Index.OpenAgentWork(w.ctx, "b")
		must(t, err)
		wantList(t, "due", work.Due, again)
		must(t, w.bid(again, "b", blackboard.BidIgnore))
		if got := w.snapshot(again); len(got.Bids) != 2 || got.Claim.Status != blackboard.PendingReview {
			t.Errorf("%+v", got)
		}
	})
}

// A rework that failed is a rework when it is tried again, with the answers it had.
func TestRetryOfRework(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		first := w.granted(blackboard.PhaseExclusive, "a")
		goalID := w.snapshot(first).Claim.WorkflowID
		a := w.finish(first, "a", blackboard.Standard, "Code", "v1")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(first), ""))
		claim := w.open(a.ID, "r")
		w.grant(claim, blackboard.PhaseReview, "r")
		review := w.finish(claim, "r", blackboard.Review, "Review", "no")
		rework := blackboard.ReworkClaimID(claim)
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "a", Context: []string{review.ID}}))
		w.refuses("after feedback", blackboard.ErrRefused, func() error {
			err := w.b.People.Retry(w.ctx, claim, newID(), "ann", "")
			if !strings.Contains(err.Error(), "feedback") {
				t.Error(err)
			}
			return err
		})
		q := w.finish(rework, "a", blackboard.Question, "Question", "how?")
		answer := answerTo(q)
		_, err := w.b.People.PostAnswer(w.ctx, q.ID, answer, "ann")
		must(t, err)
		w.finish(rework, "a", blackboard.Question, "Question", "and then?")
		must(t, w.b.People.CancelClaim(w.ctx, rework, cancelled(a.ID, rework, goalID), "ann", "x"))
		again, third := newID(), newID()
		must(t, w.b.People.Retry(w.ctx, rework, again, "ann", ""))
		c := w.snapshot(again).Claim
		if !c.Rework || c.Status != blackboard.PendingExclusive || c.GrantedExclusiveAgent != "a" {
			t.Errorf("claim %+v", c)
		}
		wantList(t, "context", c.AdditionalContextIDs, review.ID)
		wantList(t, "asked", w.grantOf(again, "a").Asked, q.ID, answer.ID)
		left := func(claim string) { // its tree starts from what was kept at the last question
			if g := w.grantOf(claim, "a"); g.AskedIn != 2 || g.AskedOf != rework {
				t.Errorf("grant %+v", g)
			}
		}
		left(again)
		w.refuses("while the thread has an open claim", blackboard.ErrRefused, func() error { return w.b.People.Retry(w.ctx, again, newID(), "ann", "") })
		w.fail(again, "a")
		must(t, w.b.People.Retry(w.ctx, again, third, "ann", ""))
		if c := w.snapshot(third).Claim; !c.Rework {
			t.Errorf("a retry of a retry: %+v", c)
		}
		left(third)
		w.finish(third, "a", blackboard.Question, "Question", "once more?")
		if g := w.grantOf(third, "a"); g.AskedIn != g.Attempt || g.AskedOf != "" {
			t.Errorf("a question of its own: %+v", g)
		}
	})
}

// Feedback beside a review that failed has not been heeded: what failed is tried
// again, and then it counts.
func TestRetryBesideFeedback(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseReview, "r1", "r2")
		w.finish(claim, "r1", blackboard.Review, "Review", "no")
		w.fail(claim, "r2")
		again := newID()
		must(t, w.b.People.Retry(w.ctx, claim, again, "ann", ""))
		if g := w.grantOf(again, "r1"); g.Verdict != blackboard.Feedback || g.State != blackboard.GrantDone {
			t.Errorf("the feedback: %+v", g)
		}
		if g := w.grantOf(again, "r2"); g.State != blackboard.GrantQueued {
			t.Errorf("the review that failed: %+v", g)
		}
	})
}

// Feedback that led to no rework is decided about anew: whoever made the artefact is
// back, the limit is higher, or a person cancelled before it was decided about.
func TestRetryOfUnheededFeedback(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for what, end := range map[string]func(a blackboard.Artefact, claim string) error{
			"nobody to rework it": func(a blackboard.Artefact, claim string) error {
				f := result(w.snapshot(claim).Claim, "", blackboard.Failure, blackboard.TypeAgentRemoved, "{}")
				return w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "feedback", &f, nil)
			},
			"cancelled": func(a blackboard.Artefact, claim string) error {
				return w.b.People.CancelClaim(w.ctx, claim, cancelled(a.ID, claim, a.WorkflowID), "ann", "x")
			},
		} {
			first := w.granted(blackboard.PhaseExclusive, "a")
			a := w.finish(first, "a", blackboard.Standard, "Code", "v1")
			must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(first), ""))
			claim := w.open(a.ID, "r")
			must(t, w.bid(claim, "r", blackboard.BidReview))
			w.grant(claim, blackboard.PhaseReview, "r")
			review := w.finish(claim, "r", blackboard.Review, "Review", "no")
			must(t, end(a, claim))
			again := newID()
			w.twice(what, func() error { return w.b.People.Retry(w.ctx, claim, again, "ann", "now") })
			snap := w.snapshot(again)
			if g := w.grantOf(again, "r"); g.ResultID != review.ID || g.State != blackboard.GrantDone || snap.Claim.Status != blackboard.PendingReview {
				t.Errorf("%s: %+v", what, snap)
			}
			rework := blackboard.ReworkClaimID(again)
			must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(again), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "a", Context: []string{review.ID}}))
			must(t, w.b.People.CancelClaim(w.ctx, rework, cancelled(a.ID, rework, a.WorkflowID), "ann", "x"))
			w.refuses("after feedback that was heeded", blackboard.ErrRefused, func() error {
				err := w.b.People.Retry(w.ctx, again, newID(), "ann", "")
				if !strings.Contains(err.Error(), "it ended with feedback") || !strings.Contains(err.Error(), rework) {
					t.Errorf("%s: %v", what, err)
				}
				return err
			})
		}
	})
}

// Nobody reworks what a person made: another try would end as this one did.
func TestRetryOfRejectedGoal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseReview, "r")
		goalID := w.snapshot(claim).Claim.WorkflowID
		w.finish(claim, "r", blackboard.Review, "Review", "no")
		must(t, w.b.People.CancelClaim(w.ctx, claim, cancelled(goalID, claim, goalID), "ann", "x"))
		w.refuses("a goal that was rejected", blackboard.ErrRefused, func() error {
			err := w.b.People.Retry(w.ctx, claim, newID(), "ann", "")
			if !strings.Contains(err.Error(), "it ended with feedback") {
				t.Error(err)
			}
			return err
		})
	})
}

func TestRetryRefused(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		w.refuses("an open claim", blackboard.ErrRefused, func() error { return w.b.People.Retry(w.ctx, claim, newID(), "ann", "") })
		w.refuses("no claim", blackboard.ErrRefused, func() error { return w.b.People.Retry(w.ctx, newID(), newID(), "ann", "") })
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		w.refuses("a claim that is complete", blackboard.ErrRefused, func() error { return w.b.People.Retry(w.ctx, claim, newID(), "ann", "") })
		failed := w.granted(blackboard.PhaseExclusive, "a")
		w.fail(failed, "a")
		must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "ann"}))
		w.refuses("while it is stopping", blackboard.ErrStopping, func() error { return w.b.People.Retry(w.ctx, failed, newID(), "ann", "") })
	})
}

// Another goal's Failure that is left is the one that is shown.
func TestRetryLeavesOtherFailures(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		first := w.granted(blackboard.PhaseParallel, "a", "b")
		goalID := w.snapshot(first).Claim.WorkflowID
		x, y := w.finish(first, "a", blackboard.Standard, "X", ""), w.finish(first, "b", blackboard.Standard, "Y", "")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(first), ""))
		cx, cy := w.open(x.ID, "a"), w.open(y.ID, "a")
		for _, c := range []string{cx, cy} {
			w.grant(c, blackboard.PhaseExclusive, "a")
			w.fail(c, "a")
		}
		left := w.grantOf(cx, "a").ResultID
		must(t, w.b.People.Retry(w.ctx, cy, newID(), "ann", ""))
		if wf := w.workflow(goalID); wf.Failures != 1 || wf.FailureID != left {
			t.Errorf("workflow %+v, want failure %s", wf, left)
		}
	})
}
