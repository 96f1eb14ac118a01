package orchestrator

import (
	"testing"
	"time"

	"sett/blackboard"
)

// quickTally counts at once.
func quickTally(p *pace) { p.tick = 20 * time.Millisecond }

// Each claim counts once as opened and once as what it ended as, whoever opened and
// whoever ended it: also reworks, what a person rejected, tried again or cancelled.
func TestTallyOfClaims(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.approving("Held")
	base := s.watchedBy(options{pace: quickTally})
	says := func(opened, complete, terminated float64) {
		t.Helper()
		s.says(base, map[string]float64{`sett_claims_total{status="opened"}`: opened,
			`sett_claims_total{status="complete"}`: complete, `sett_claims_total{status="terminated"}`: terminated})
	}
	draft := s.makes(s.goal("g"), "a")
	c := s.claimOf(draft)
	s.bids(c, "a ignore", "b review")
	says(2, 1, 0)
	s.does(c, "b", review, "Review", `["shorter"]`)
	says(3, 1, 1) // its rework
	rework := blackboard.ReworkClaimID(c)
	s.cancels(rework, "leave it")
	says(3, 1, 2)
	again := s.retries(rework)
	says(4, 1, 2)
	held := s.does(again, "a", blackboard.Standard, "Held", "v2")
	says(4, 2, 2)
	s.rejects("ann", held, "no")
	says(6, 2, 3) // the claim with the rejection, and its rework
	s.cancelsGoal(s.artefact(held).WorkflowID)
	says(6, 2, 4)
	g := s.goal("two claims")
	c = s.claimOf(g)
	s.bids(c, "a claim", "b claim")
	s.does(c, "a", blackboard.Standard, "Draft", "x")
	s.does(c, "b", blackboard.Standard, "Draft", "y")
	says(9, 3, 4)
	s.cancelsGoal(g)
	says(9, 3, 6)
}

// Every Failure that Sett itself writes counts by its name, in whatever entry.
func TestTallyOfFailures(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a")
	base := s.watchedBy(options{pace: quickTally})
	g := s.goal("bad")
	c := s.claimOf(g)
	s.bids(c, "a review")
	s.does(c, "a", review, "Review", `["no"]`)
	s.ended(g, blackboard.WorkflowFailed)
	g = s.goal("cancelled")
	c = s.claimOf(g)
	s.cancels(c, "leave it")
	s.retries(c)
	s.cancelsGoal(g)
	s.says(base, map[string]float64{`sett_failures_recorded_total{type="GoalRejected"}`: 1, `sett_failures_recorded_total{type="Cancelled"}`: 2,
		`sett_failures_recorded_total{type="other"}`: 0})
}

// A phase takes from its first grant to its last result under this claim: what a
// person reviewed is no grant, and what a retry kept was before.
func TestPhaseWaits(t *testing.T) {
	t.Parallel()
	s := newSett(t, "a", "b")
	s.approving("Held")
	base := s.watchedBy(options{pace: quickTally})
	c := s.claimOf(s.goal("g"))
	s.bids(c, "a review", "b exclusive")
	s.does(c, "a", review, "Review", "{}")
	s.fails(c, "b")
	again := s.retries(c)
	held := s.does(again, "b", blackboard.Standard, "Held", "v1")
	s.status(again, blackboard.Complete)
	s.status(s.rejects("ann", held, "no"), blackboard.Terminated)
	s.says(base, map[string]float64{`sett_claims_total{status="terminated"}`: 2,
		`sett_phase_wait_seconds_count{phase="review"}`: 1, `sett_phase_wait_seconds_count{phase="exclusive"}`: 2})
}
