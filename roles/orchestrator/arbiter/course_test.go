package arbiter

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// claimWith is a claim on an artefact of agent x, with bids written "agent=bid …".
func claimWith(bids string) blackboard.Snapshot {
	s := blackboard.Snapshot{Claim: blackboard.Claim{ID: "claim", Status: blackboard.PendingReview, Origin: blackboard.OriginArtefact,
		Target: blackboard.Target{Agent: "x", Version: 1}}}
	for _, b := range strings.Fields(bids) {
		agent, bid, _ := strings.Cut(b, "=")
		s.Claim.ExpectedBidders = append(s.Claim.ExpectedBidders, agent)
		if bid != "" {
			s.Bids = append(s.Bids, blackboard.Bid{Agent: agent, Type: blackboard.BidType(bid)})
		}
	}
	return s
}

func TestUnroll(t *testing.T) {
	t.Parallel()
	policy := Policy{Clan: []string{"a", "b", "c", "d"}, MaxReviewIterations: 1, BidTimeout: time.Nanosecond}
	isD := func(agent string) bool { return agent == "d" }
	for bids, want := range map[string]string{
		"":                                 "",
		"a=ignore b=ignore":                "",
		"a=exclusive":                      "exclusive:a",
		"b=exclusive a=exclusive":          "exclusive:b",
		"b=review a=review":                "review:b,a",
		"d=exclusive c=claim b=review":     "review:b;parallel:c;exclusive:+d",
		"c=claim a=claim b=ignore":         "parallel:c,a",
		"a=review gone=review b=exclusive": "review:a;exclusive:b",
		"gone=exclusive b=exclusive":       "exclusive:b",
		"a=nonsense b=claim":               "parallel:b",
		"a=review b=claim c=claim d=claim": "review:a;parallel:b,c,+d",
	} {
		if c, ok := Unroll(claimWith(bids), policy); !ok || c.Text(isD) != want {
			t.Errorf("%q: %q, %v; want %q", bids, c, ok, want)
		}
	}
	for name, change := range map[string]func(*blackboard.Snapshot){
		"a bid is missing": func(s *blackboard.Snapshot) { s.Claim.ExpectedBidders = append(s.Claim.ExpectedBidders, "b") },
		"an agent that left has not bid": func(s *blackboard.Snapshot) {
			s.Claim.ExpectedBidders = append(s.Claim.ExpectedBidders, "gone")
		},
		"a person has reviewed": func(s *blackboard.Snapshot) {
			s.Grants = []blackboard.Grant{{Agent: blackboard.HumanAgent("ann"), Phase: blackboard.PhaseReview, State: blackboard.GrantDone, Verdict: blackboard.Approve}}
		},
		"it is a rework":    func(s *blackboard.Snapshot) { s.Claim.Origin = blackboard.OriginRework },
		"it has ended":      func(s *blackboard.Snapshot) { s.Claim.Status = blackboard.Complete },
		"its status is odd": func(s *blackboard.Snapshot) { s.Claim.Status = "pending" },
	} {
		s := claimWith("a=exclusive")
		change(&s)
		before := s
		if c, ok := Unroll(s, policy); ok {
			t.Errorf("%s: %q", name, c)
		}
		if !reflect.DeepEqual(s, before) {
			t.Errorf("%s: the snapshot was changed", name)
		}
	}
}

// script is the model of the scripts that follow courses (_course.lua): the step that a
// script would take on a claim; false: it leaves the claim to the orchestrator. The claim
// has had one revision of the policy all its life.
func script(s blackboard.Snapshot, p Policy) (Decision, bool) {
	bare := s
	bare.Claim.Status, bare.Grants = blackboard.PendingReview, nil
	course, ok := Unroll(bare, p)
	if !ok || s.Claim.Status.Closed() || s.Claim.Origin != blackboard.OriginArtefact || len(s.Claim.ExpectedBidders) == 0 {
		return Decision{}, false
	}
	next := 0
	if len(s.Grants) > 0 {
		next = 1 + slices.IndexFunc(course, func(step Step) bool { return step.Phase.Status() == s.Claim.Status })
	}
	for _, g := range s.Grants {
		approves := g.Phase != blackboard.PhaseReview || g.Verdict == blackboard.Approve
		if !g.OfAgent() || g.State != blackboard.GrantDone || !approves || next == 0 {
			return Decision{}, false
		}
	}
	if next < len(course) {
		return Decision{Kind: GrantPhase, Phase: course[next].Phase, Agents: course[next].Agents}, true
	}
	d := Decision{Kind: Complete}
	if len(course) == 0 {
		d.Reason = ReasonUnwanted
	}
	return d, true
}

// checkScript holds the script's step against the arbiter's decision. Only a claim with
// one revision of the policy, by which all agents are in the clan, is followed.
func (x *explorer) checkScript(m model, d Decision) {
	if slices.ContainsFunc(m.agents[:m.clanSize()], func(c cell) bool { return c.gone }) {
		return
	}
	m.snapshot(&x.snap)
	x.policy.Clan = m.clan(x.policy.Clan)
	step, acts := script(x.snap, x.policy)
	if !acts {
		return
	}
	x.scripted[step.Kind]++
	if !reflect.DeepEqual(step, d) {
		x.fail(m, "a script would %+v, decided is %+v", step, d)
	}
}
