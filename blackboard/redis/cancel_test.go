package redis

import (
	"strings"
	"testing"

	"sett/blackboard"
)

func cancelled(about, claim, workflow string) blackboard.Artefact {
	f := word(blackboard.Failure, about, claim, workflow, `{"reason":"cancelled"}`, "ann")
	f.Type = blackboard.TypeCancelled
	return f
}

// Cancelling a claim stops whatever was done for it, and the goal fails.
func TestCancelClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "asks", "done", "queued", "runs")
		goalID := w.snapshot(claim).Claim.WorkflowID
		w.finish(claim, "done", blackboard.Terminal, "End", "")
		w.finish(claim, "asks", blackboard.Question, "Question", "why?")
		c, running := w.run(claim, "runs")
		f := cancelled(goalID, claim, goalID)
		w.twice("cancel", func() error { return w.b.People.CancelClaim(w.ctx, claim, f, "ann", "wrong way") })
		for agent, want := range map[string]blackboard.GrantState{
			"asks": blackboard.GrantCancelled, "queued": blackboard.GrantCancelled, "runs": blackboard.GrantCancelled, "done": blackboard.GrantDone,
		} {
			if g := w.grantOf(claim, agent); g.State != want {
				t.Errorf("%s: %+v", agent, g)
			}
		}
		late := result(c, "runs", blackboard.Standard, "Code", "late")
		w.refuses("a late result", blackboard.ErrRefused, func() error { return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: running, Artefact: late}) })
		snap, wf := w.snapshot(claim).Claim, w.workflow(goalID)
		if snap.Status != blackboard.Terminated || snap.Reason != "cancelled by ann: wrong way" {
			t.Errorf("claim %+v", snap)
		}
		if wf.Status != blackboard.WorkflowFailed || wf.FailureID != f.ID || wf.Questions != 0 || wf.Outstanding != 0 {
			t.Errorf("workflow %+v", wf)
		}
		w.refuses("cancelling again", blackboard.ErrRefused, func() error {
			return w.b.People.CancelClaim(w.ctx, claim, cancelled(goalID, claim, goalID), "bob", "me too")
		})
		w.refuses("cancelling nothing", blackboard.ErrRefused, func() error {
			return w.b.People.CancelClaim(w.ctx, newID(), cancelled(goalID, claim, goalID), "bob", "x")
		})
		if e := w.lastEvent(); e.Kind != blackboard.EventCancel || e.Attributes["by"] != "ann" || e.Reason != "wrong way" ||
			e.Attributes["cancelled"] != "asks,queued,runs" || e.Attributes["result_type"] != blackboard.TypeCancelled {
			t.Errorf("ledger %+v", e)
		}
	})
}

// Cancelling a goal ends its claims, what has no claim yet and what is held, of
// this goal only; nothing of it can be tried again.
func TestCancelGoal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.gates("Held")
		other := w.granted(blackboard.PhaseExclusive, "o")
		claim := w.granted(blackboard.PhaseParallel, "a", "b", "c")
		goalID := w.snapshot(claim).Claim.WorkflowID
		unclaimed := w.finish(claim, "a", blackboard.Standard, "Code", "1")
		held := w.finish(claim, "b", blackboard.Standard, "Held", "2")
		f := cancelled(goalID, "", goalID)
		w.twice("cancel", func() error { return w.b.People.CancelWorkflow(w.ctx, goalID, f, "ann", "enough") })
		wf := w.workflow(goalID)
		if wf.Status != blackboard.WorkflowFailed || wf.Outstanding != 0 || wf.Gates != 0 || wf.FailureID != f.ID || wf.EndedAt.IsZero() {
			t.Errorf("workflow %+v", wf)
		}
		work, err := w.b.Index.OpenWork(w.ctx)
		must(t, err)
		wantList(t, "unclaimed", work.Unclaimed)
		wantList(t, "open claims", work.Claims, other)
		w.openGates()
		if o, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, unclaimed.ID, []string{"a"}, 0); o != blackboard.NotClaimable || err != nil {
			t.Errorf("a claim after it: %v %v", o, err)
		}
		w.refuses("approving after it", blackboard.ErrRefused, func() error {
			return w.b.People.Approve(w.ctx, held.ID, word(blackboard.Review, held.ID, "", goalID, "{}", "ann"), "ann")
		})
		w.refuses("a retry", blackboard.ErrRefused, func() error { return w.b.People.Retry(w.ctx, claim, newID(), "ann", "") })
		w.refuses("cancelling again", blackboard.ErrRefused, func() error {
			return w.b.People.CancelWorkflow(w.ctx, goalID, cancelled(goalID, "", goalID), "bob", "x")
		})
		w.refuses("cancelling nothing", blackboard.ErrRefused, func() error {
			return w.b.People.CancelWorkflow(w.ctx, newID(), cancelled(goalID, "", goalID), "bob", "x")
		})
		if e := w.lastEvent(); e.Attributes["claims"] != claim || e.Attributes["workflow_status"] != "failed" {
			t.Errorf("ledger %+v", e)
		}
		if st := w.snapshot(other).Claim.Status; st.Closed() {
			t.Errorf("another goal's claim is %s", st)
		}
	})
}

// A goal ends when a person cancels it, whatever has become of its records and of its
// count of what is outstanding. What was lost waits no longer.
func TestCancelBrokenGoal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.gates("Held")
		for _, count := range []string{"1", "7", "-2", "x", ""} {
			claim := w.granted(blackboard.PhaseParallel, "a", "asks", "b")
			goalID := w.snapshot(claim).Claim.WorkflowID
			w.finish(claim, "asks", blackboard.Question, "Question", "why?")
			lost, held := w.finish(claim, "a", blackboard.Standard, "Code", "1"), w.finish(claim, "b", blackboard.Standard, "Held", "2")
			w.raw("HDEL", w.b.c.Keys.Claim(claim), "workflow_id")
			w.raw("DEL", w.b.c.Keys.Artifact(lost.ID), w.b.c.Keys.Artifact(held.ID))
			w.refuses("opening a claim on what is lost", nil, func() error {
				o, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, lost.ID, []string{"a"}, 1)
				if o != blackboard.NotClaimable {
					t.Errorf("a claim on what is lost: %v", o)
				}
				return err
			})
			for what, decide := range map[string]func() error{
				"approving what is lost": func() error {
					return w.b.People.Approve(w.ctx, held.ID, word(blackboard.Review, held.ID, "", goalID, "{}", "ann"), "ann")
				},
				"rejecting what is lost": func() error {
					_, err := w.b.People.Reject(w.ctx, held.ID, word(blackboard.Review, held.ID, "", goalID, "no", "ann"), "ann")
					return err
				},
			} {
				w.refuses(what, blackboard.ErrRefused, decide)
			}
			if count == "" {
				w.raw("HDEL", w.b.c.Keys.Workflow(goalID), "outstanding")
			} else {
				w.raw("HSET", w.b.c.Keys.Workflow(goalID), "outstanding", count)
			}
			f := cancelled(goalID, "", goalID)
			w.twice("cancel with "+count, func() error { return w.b.People.CancelWorkflow(w.ctx, goalID, f, "ann", "enough") })
			wf := w.workflow(goalID)
			if wf.Status != blackboard.WorkflowFailed || wf.Outstanding != 0 || wf.Gates != 0 || wf.Questions != 0 || wf.EndedAt.IsZero() {
				t.Errorf("workflow %+v", wf)
			}
			if e := w.lastEvent(); e.GoalEnded() != blackboard.WorkflowFailed {
				t.Errorf("ledger %+v", e)
			}
			work, err := w.b.Index.OpenWork(w.ctx)
			must(t, err)
			wantList(t, "unclaimed", work.Unclaimed)
			wantList(t, "claims", work.Claims)
			w.openGates()
			questions, err := w.b.Index.OpenQuestions(w.ctx)
			must(t, err)
			wantList(t, "questions", questions)
			active, err := w.b.Index.ActiveWorkflows(w.ctx)
			must(t, err)
			wantList(t, "active", active)
		}
	})
}

// A claim whose exclusive agent has handed in its result is done but for the
// orchestrator's word: cancelled, it would have failed with its next version on the
// blackboard, and nobody could try it again.
func TestCancelWhenDone(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		goalID := w.snapshot(claim).Claim.WorkflowID
		v1 := w.finish(claim, "a", blackboard.Standard, "Code", "v1")
		refused := func(claim string) {
			t.Helper()
			w.refuses("cancelling what is done", blackboard.ErrRefused, func() error {
				err := w.b.People.CancelClaim(w.ctx, claim, cancelled(goalID, claim, goalID), "ann", "x")
				if err == nil || !strings.Contains(err.Error(), "its work is done") {
					t.Error(err)
				}
				return err
			})
		}
		refused(claim)
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		reviewed := w.open(v1.ID, "r")
		w.grant(reviewed, blackboard.PhaseReview, "r")
		w.finish(reviewed, "r", blackboard.Review, "Review", "no")
		rework := blackboard.ReworkClaimID(reviewed)
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(reviewed), "feedback", nil, &blackboard.Rework{ClaimID: rework, Agent: "a"}))
		c, ref := w.run(rework, "a")
		v2 := result(c, "a", blackboard.Standard, "Code", "v2")
		v2.LogicalID = v1.LogicalID
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: v2}))
		refused(rework)
		w.raw("HSET", w.b.c.Keys.Claim(rework), "grant:a", "{")
		must(t, w.b.People.CancelClaim(w.ctx, rework, cancelled(goalID, rework, goalID), "ann", "its record is broken"))
	})
}
