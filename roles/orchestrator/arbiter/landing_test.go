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
		"moving, and cancelled":        {LandingFacts{Landing: in(blackboard.LandingMoving), Failures: 1, Ended: true, Branch: "main"}, LandLook},
		"cancelled":                    {LandingFacts{Landing: in(blackboard.LandingQueued), Failures: 1, Ended: true, Branch: "main"}, LandEnd},
		"moving, land is gone":         {LandingFacts{Landing: in(blackboard.LandingMoving), Outstanding: 1}, LandMove},
		"refused":                      {LandingFacts{Landing: in(blackboard.LandingRefused), Outstanding: 1}, LandRework},
		"land is gone":                 {LandingFacts{Landing: in(blackboard.LandingQueued), Outstanding: 1}, LandEnd},
		"verified":                     {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "main", Verdict: blackboard.Complete}, LandMove},
		"feedback":                     {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "main", Verdict: blackboard.Terminated}, LandRefuse},
		"superseded":                   {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Branch: "main", Verdict: blackboard.Terminated, Superseded: true}, LandPlan},
		"superseded, and land is gone": {LandingFacts{Landing: in(blackboard.LandingVerifying), Outstanding: 1, Verdict: blackboard.Terminated, Superseded: true}, LandEnd},
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
		}, Policy{Clan: []string{"r"}, MaxReviewIterations: 3, Verifies: true}, time.Now())
	}
	if d := decide(blackboard.RoleRepository); d.Kind != Terminate || d.FailureType != "" || d.Rework != nil || !strings.Contains(d.Reason, "feedback by r") {
		t.Errorf("of the repository: %+v", d)
	}
	if d := decide(blackboard.RoleUser); d.FailureType != FailureGoalRejected {
		t.Errorf("of a person: %+v", d)
	}
}

// A claim on a Landing ends without a Failure once no landing is verified any more, also where its agents have left. Feedback
// that was given before counts.
func TestLandingIsSuperseded(t *testing.T) {
	t.Parallel()
	s := blackboard.Snapshot{
		Claim: blackboard.Claim{ID: "c", ArtefactID: "a", Status: blackboard.PendingReview, GrantedReviewAgents: []string{"r"}, ExpectedBidders: []string{"r"},
			Target: blackboard.Target{Type: blackboard.TypeLanding, Version: 1, Role: blackboard.RoleRepository}},
		Bids:   []blackboard.Bid{{Agent: "r", Type: blackboard.BidReview}},
		Grants: []blackboard.Grant{{Agent: "r", Phase: blackboard.PhaseReview, Attempt: 1, State: blackboard.GrantRunning, Holder: "h"}},
	}
	for _, clan := range [][]string{{"r"}, {"other"}} {
		if d := Decide(s, Policy{Clan: clan}, time.Now()); d.Kind != Terminate || d.FailureType != "" || d.Rework != nil || d.Reason != ReasonSuperseded {
			t.Errorf("clan %v: %+v", clan, d)
		}
	}
	if d := Decide(s, Policy{Clan: []string{"other"}, Verifies: true}, time.Now()); d.FailureType != blackboard.TypeAgentRemoved {
		t.Errorf("still verified: %+v", d)
	}
	own := s
	own.Claim.Target.Agent = "r"
	if d := Decide(own, Policy{Clan: []string{"r"}}, time.Now()); d.Kind != Wait {
		t.Errorf("an agent's own type: %+v", d)
	}
	s.Claim.Status, s.Grants[0].State = blackboard.Terminated, blackboard.GrantCancelled
	if !Superseded(s) {
		t.Error("it was not superseded")
	}
	s.Grants[0].State, s.Grants[0].Verdict = blackboard.GrantDone, blackboard.Feedback
	if Superseded(s) {
		t.Error("feedback counts no more")
	}
}
