package redis

import (
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// achieved brings a goal to its Terminal, where results land on a branch.
func (w *world) achieved() (goal, result string) {
	w.Helper()
	claim := w.granted(blackboard.PhaseExclusive, "a")
	a := w.finish(claim, "a", blackboard.Terminal, "Release", "x")
	must(w, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
	return a.WorkflowID, a.ID
}

// lands takes a landing further, twice, and checks that the counts are right.
func (w *world) lands(goal string, to blackboard.Landing, more func(*blackboard.LandingStep)) {
	w.Helper()
	step := blackboard.LandingStep{Epoch: w.epoch, Workflow: goal, From: *w.workflow(goal).Landing, To: to}
	if more != nil {
		more(&step)
	}
	w.twice("land", func() error { return w.b.Leader.Land(w.ctx, step) })
	w.countsHold(goal)
}

// countsHold checks that a count anew changes nothing.
func (w *world) countsHold(goal string) {
	w.Helper()
	r, err := w.b.c.Do(w.ctx, "recount", goal, "test")
	must(w, err)
	if r.Status != "already" {
		w.Errorf("the counts of goal %s were wrong: %+v", goal, w.lastEvent())
	}
}

func (w *world) openLandings(want ...string) {
	w.Helper()
	got, err := w.b.Index.OpenLandings(w.ctx)
	must(w, err)
	wantList(w, "open landings", got, want...)
}

// An achieved goal goes on until its result has landed, in the order of the goals' ends.
func TestLanding(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		before, _ := w.achieved()
		if wf := w.workflow(before); wf.Status != blackboard.WorkflowAchieved || wf.Landing != nil {
			t.Errorf("without land: %+v", wf)
		}
		w.twice("set landing", func() error { return w.b.Leader.SetLanding(w.ctx, w.epoch, "main") })
		if e := w.lastEvent(); e.Kind != blackboard.EventPolicy || e.Attributes["land"] != "main" {
			t.Errorf("ledger %+v", e)
		}
		w.refuses("a stale leader", blackboard.ErrStale, func() error { return w.b.Leader.SetLanding(w.ctx, "old", "") })
		first, result := w.achieved()
		second, _ := w.achieved()
		if e := w.lastEvent(); !e.WaitsForTurn() || e.OnlyPeople() || !w.workflow(second).WaitsForTurn() {
			t.Errorf("its turn: %+v", e)
		}
		w.openLandings(first, second)
		wf := w.workflow(first)
		if wf.Status != blackboard.WorkflowActive || wf.Outstanding != 1 || wf.Landing.State != blackboard.LandingQueued || wf.Landing.Since.IsZero() || wf.OnlyPeople() {
			t.Errorf("achieved: %+v %+v", wf, wf.Landing)
		}
		w.countsHold(first)
		old := *wf.Landing

		w.lands(first, blackboard.Landing{State: blackboard.LandingBarred, Artefact: result, Branch: "main", Reason: "checked out", People: true}, nil)
		if wf := w.workflow(first); !wf.OnlyPeople() || wf.WaitsForTurn() {
			t.Errorf("barred: %+v", wf)
		}
		if e := w.lastEvent(); e.Kind != blackboard.EventLanding || e.To != "barred" || e.From != "queued" || !e.OnlyPeople() {
			t.Errorf("ledger %+v", e)
		}
		w.refuses("an old decision", blackboard.ErrStale, func() error {
			return w.b.Leader.Land(w.ctx, blackboard.LandingStep{Epoch: w.epoch, Workflow: first, From: old, To: blackboard.Landing{State: blackboard.LandingLanded}, Over: true})
		})
		w.refuses("an old leader", blackboard.ErrStale, func() error {
			return w.b.Leader.Land(w.ctx, blackboard.LandingStep{Epoch: "old", Workflow: first, From: *w.workflow(first).Landing})
		})
		w.lands(first, blackboard.Landing{State: blackboard.LandingMoving, Branch: "main", Tip: "aa", Commit: "bb", How: "rebase"}, nil)
		if wf := w.workflow(first); wf.OnlyPeople() || wf.Suspended != 0 {
			t.Errorf("moving: %+v", wf)
		}
		w.lands(first, blackboard.Landing{State: blackboard.LandingLanded, Branch: "main", Commit: "bb", How: "rebase"}, func(s *blackboard.LandingStep) { s.Over = true })
		if wf := w.workflow(first); wf.Status != blackboard.WorkflowAchieved || wf.Outstanding != 0 || wf.Landing.Commit != "bb" {
			t.Errorf("landed: %+v", wf)
		}
		if e := w.lastEvent(); e.GoalEnded() != blackboard.WorkflowAchieved || e.Attributes["commit"] != "bb" {
			t.Errorf("ledger %+v", e)
		}
		w.openLandings(second)
		w.refuses("a landing that is over", blackboard.ErrRefused, func() error {
			return w.b.Leader.Land(w.ctx, blackboard.LandingStep{Epoch: w.epoch, Workflow: first, From: *w.workflow(first).Landing, To: blackboard.Landing{State: blackboard.LandingNone}})
		})
	})
}

// A result that does not land is reworked, and its goal takes its turn anew at its next
// end; a verification keeps the turn.
func TestLandingIsReworked(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.Leader.SetLanding(w.ctx, w.epoch, "main"))
		goal, result := w.achieved()
		landing := blackboard.Artefact{ID: blackboard.LandingID(goal, "bb", time.Time{}, 0), LogicalID: blackboard.LandingThread(goal), StructuralType: blackboard.Standard,
			Type: blackboard.TypeLanding, Payload: "{}", Commit: "bb", SourceArtefacts: []string{result}, ProducedByRole: blackboard.RoleRepository, WorkflowID: goal}
		w.lands(goal, blackboard.Landing{State: blackboard.LandingVerifying, Artefact: result, Verification: landing.ID}, func(s *blackboard.LandingStep) { s.Artefact = &landing })
		claim := w.open(landing.ID, "a")
		if wf := w.workflow(goal); wf.Outstanding != 2 || wf.WaitsForTurn() || w.lastEvent().WaitsForTurn() {
			t.Errorf("verifying: %+v", wf)
		}
		must(t, w.bid(claim, "a", blackboard.BidIgnore))
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "feedback by a", nil, nil))
		if e := w.lastEvent(); !e.WaitsForTurn() || !w.workflow(goal).WaitsForTurn() {
			t.Errorf("verified: %+v", e)
		}
		w.openLandings(goal)
		review := blackboard.Artefact{ID: blackboard.LandingReviewID(result, time.Time{}), StructuralType: blackboard.Review, Type: blackboard.TypeLandingReview,
			Payload: "no", SourceArtefacts: []string{result}, ProducedByRole: blackboard.RoleRepository, WorkflowID: goal}
		w.lands(goal, blackboard.Landing{State: blackboard.LandingRefused, Artefact: result, Review: review.ID, Reason: "no"}, func(s *blackboard.LandingStep) { s.Artefact = &review })
		rework := &blackboard.LandingRework{Artefact: result, Rework: blackboard.Rework{ClaimID: blackboard.LandingReworkID(result, time.Time{}), Agent: "a", Context: []string{review.ID}}}
		w.lands(goal, blackboard.Landing{State: blackboard.LandingReworked, Artefact: result}, func(s *blackboard.LandingStep) { s.Rework = rework })
		w.openLandings()
		if wf := w.workflow(goal); wf.Outstanding != 1 || wf.Status != blackboard.WorkflowActive {
			t.Errorf("reworked: %+v", wf)
		}
		if e := w.lastEvent(); e.Claim != rework.ClaimID || e.Agent != "a" || e.To != "reworked" {
			t.Errorf("ledger %+v", e)
		}
		w.finish(rework.ClaimID, "a", blackboard.Terminal, "Release", "y")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(rework.ClaimID), ""))
		w.openLandings(goal)
		failed := failure(goal, blackboard.TypeReviewLimit)
		w.lands(goal, blackboard.Landing{State: blackboard.LandingNone, Reason: "limit"}, func(s *blackboard.LandingStep) { s.Over, s.Artefact = true, &failed })
		if wf := w.workflow(goal); wf.Status != blackboard.WorkflowFailed || wf.Outstanding != 0 {
			t.Errorf("failed: %+v", wf)
		}
	})
}

// A person ends a goal that waits to land; an export keeps its turn.
func TestLandingIsCancelled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.Leader.SetLanding(w.ctx, w.epoch, "main"))
		goal, _ := w.achieved()
		other, _ := w.achieved()
		must(t, w.b.People.CancelWorkflow(w.ctx, goal, failure(goal, blackboard.TypeCancelled), "ann", "no"))
		w.openLandings(other)
		if wf := w.workflow(goal); wf.Status != blackboard.WorkflowFailed {
			t.Errorf("cancelled: %+v", wf)
		}
		found := false
		for _, line := range w.export("") {
			found = found || strings.Contains(line, `"landings"`) && strings.Contains(line, other)
		}
		if !found {
			t.Error("the export has no open landing")
		}
	})
}

// A goal that failed in landing takes its turn anew when it is tried again, once, whatever comes beside it.
func TestLandingIsTriedAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.Leader.SetLanding(w.ctx, w.epoch, "main"))
		goal, result := w.achieved()
		retry := func(goal, failure, word string) func() error {
			return func() error {
				return w.b.People.RetryGoal(w.ctx, blackboard.GoalRetry{Workflow: goal, Failure: failure, Word: word}, "ann", "the limit is raised")
			}
		}
		w.refuses("no Failure", blackboard.ErrRefused, retry(goal, result, "w0"))
		since := w.workflow(goal).Landing.Since
		for i, word := range []string{"w1", "w2"} {
			f := failure(goal, blackboard.TypeReviewLimit)
			w.lands(goal, blackboard.Landing{State: blackboard.LandingNone, Artefact: result, Reason: "limit"}, func(s *blackboard.LandingStep) { s.Over, s.Artefact = true, &f })
			w.refuses("another goal", blackboard.ErrRefused, retry(newID(), f.ID, word))
			w.twice("retry", retry(goal, f.ID, word))
			w.refuses("a retry beside it", blackboard.ErrRefused, retry(goal, f.ID, "other"))
			if e := w.lastEvent(); e.Kind != blackboard.EventRetry || e.Workflow != goal || e.Artefact != f.ID || e.Claim != "" || e.Attributes["by"] != "ann" || e.To != "queued" {
				t.Errorf("ledger %+v", e)
			}
			wf := w.workflow(goal)
			if wf.Status != blackboard.WorkflowActive || wf.Failures != 0 || wf.FailureID != "" || wf.Outstanding != 1 || !wf.EndedAt.IsZero() ||
				wf.Landing.State != blackboard.LandingQueued || !wf.Landing.Since.After(since) || len(strings.Fields(wf.Retried)) != i+1 || !wf.HasRetried(f.ID) {
				t.Errorf("tried again: %+v %+v", wf, wf.Landing)
			}
			since = wf.Landing.Since
			w.openLandings(goal)
			w.countsHold(goal)
		}
		f := failure(goal, blackboard.TypeAgentRemoved)
		w.lands(goal, blackboard.Landing{State: blackboard.LandingNone}, func(s *blackboard.LandingStep) { s.Over, s.Artefact = true, &f })
		must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
		w.refuses("stopping", blackboard.ErrStopping, retry(goal, f.ID, "w3"))
		if wf := w.workflow(goal); wf.Status != blackboard.WorkflowFailed || wf.FailureID != f.ID {
			t.Errorf("at the end: %+v", wf)
		}
	})
}
