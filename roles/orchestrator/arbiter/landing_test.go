package arbiter

import (
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

func TestDecideLanding(t *testing.T) {
	t.Parallel()
	in := func(s blackboard.LandingState) blackboard.Landing {
		return blackboard.Landing{State: s, Branch: "main"}
	}
	for name, c := range map[string]struct {
		f    LandingFacts
		want LandingKind
	}{
		"its turn":                     {LandingFacts{Landing: in(blackboard.LandingQueued), Outstanding: 1, Branch: "main"}, LandPlan},
		"barred":                       {LandingFacts{Landing: in(blackboard.LandingBarred), Outstanding: 1, Branch: "main"}, LandPlan},
		"agents at work":               {LandingFacts{Landing: in(blackboard.LandingQueued), Outstanding: 2, Branch: "main"}, LandWait},
		"failed":                       {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Failures: 1, Branch: "main"}, LandEnd},
		"moving":                       {LandingFacts{Landing: in(blackboard.LandingMoving), Outstanding: 1, Branch: "main"}, LandMove},
		"moving, land is gone":         {LandingFacts{Landing: in(blackboard.LandingMoving), Outstanding: 1}, LandMove},
		"refused":                      {LandingFacts{Landing: in(blackboard.LandingRefused), Outstanding: 1}, LandRework},
		"land is gone":                 {LandingFacts{Landing: in(blackboard.LandingQueued), Outstanding: 1}, LandEnd},
		"verified":                     {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "main", Verdict: blackboard.Complete}, LandMove},
		"feedback":                     {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "main", Verdict: blackboard.Terminated}, LandRefuse},
		"a claim still open":           {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "main", Verdict: blackboard.PendingReview}, LandWait},
		"verified for another branch":  {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "other", Verdict: blackboard.Complete}, LandPlan},
		"verified, and land is gone":   {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Verdict: blackboard.Complete}, LandEnd},
		"verification without a claim": {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "main"}, LandWait},
	} {
		if got := DecideLanding(c.f); got.Kind != c.want || (got.Kind == LandEnd) == (got.Reason == "") {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
}

// Feedback on an artefact that the repository made fails no goal and opens no rework: the
// landing goes on with it. On one that a person made it does fail the goal.
func TestFeedbackOnALanding(t *testing.T) {
	t.Parallel()
	decide := func(role string) Decision {
		return Decide(blackboard.Snapshot{
			Claim: blackboard.Claim{ID: "c", ArtefactID: "a", Status: blackboard.PendingReview, GrantedReviewAgents: []string{"r"}, ExpectedBidders: []string{"r"},
				Target: blackboard.Target{Type: blackboard.TypeLanding, Version: 9, Role: role}},
			Bids:   []blackboard.Bid{{Agent: "r", Type: blackboard.BidReview}},
			Grants: []blackboard.Grant{{Agent: "r", Phase: blackboard.PhaseReview, Attempt: 1, State: blackboard.GrantDone, Verdict: blackboard.Feedback, ResultID: "x"}},
		}, Policy{Clan: []string{"r"}, MaxReviewIterations: 3}, time.Now())
	}
	if d := decide(blackboard.RoleRepository); d.Kind != Terminate || d.FailureType != "" || d.Rework != nil || !strings.Contains(d.Reason, "feedback by r") {
		t.Errorf("of the repository: %+v", d)
	}
	if d := decide(blackboard.RoleUser); d.FailureType != FailureGoalRejected {
		t.Errorf("of a person: %+v", d)
	}
}
