package arbiter

import (
	"fmt"
	"slices"

	"sett/blackboard"
)

// decideBroken terminates a claim that cannot go on: one of its grants failed, in any
// phase, or its record contradicts itself. A failed grant has its Failure already.
func decideBroken(s blackboard.Snapshot) (d Decision, over bool) {
	for _, g := range s.Grants {
		if g.State == blackboard.GrantFailed {
			reason := fmt.Sprintf("agent %s failed in the %s phase", g.Agent, g.Phase)
			if g.Reason != "" {
				reason += ": " + g.Reason
			}
			return Decision{Kind: Terminate, Reason: reason}, true
		}
	}
	if why := flaw(s); why != "" {
		return Decision{Kind: Terminate, Reason: "corrupt record: " + why, FailureType: FailureCorruptClaim}, true
	}
	return d, false
}

// orphan finds an open grant of an agent that has left the clan: it cannot end by
// itself.
func orphan(s blackboard.Snapshot, p Policy) (g blackboard.Grant, ok bool) {
	for _, g := range s.Grants {
		if !g.State.Ended() && !slices.Contains(p.Clan, g.Agent) {
			return g, true
		}
	}
	return g, false
}

// flaw names a contradiction in the record of an open claim, which no sequence of moves
// leads to; empty: there is none. A wait on such a record might never end, and a grant
// might break the rules.
func flaw(s blackboard.Snapshot) string {
	now := place(s.Claim.Status)
	if now < 0 {
		return fmt.Sprintf("unknown status %q", s.Claim.Status)
	}
	exclusive := 0
	for _, g := range s.Grants {
		phase := slices.Index(blackboard.Phases, g.Phase)
		switch {
		case phase < 0:
			return fmt.Sprintf("unknown phase %q in the grant of %s", g.Phase, g.Agent)
		case !known(g.State):
			return fmt.Sprintf("unknown state %q of the grant of %s", g.State, g.Agent)
		case g.State == blackboard.GrantCancelled:
			return fmt.Sprintf("the grant of %s is cancelled and the claim is open", g.Agent)
		case g.State == blackboard.GrantRunning && g.Holder == "":
			return fmt.Sprintf("the grant of %s is running and nobody holds it", g.Agent)
		case g.State == blackboard.GrantAwaitingAnswer && g.ResultID == "":
			return fmt.Sprintf("the grant of %s awaits an answer to no question", g.Agent)
		case phase > now:
			return fmt.Sprintf("the grant of %s is of the %s phase and the claim is %s", g.Agent, g.Phase, s.Claim.Status)
		case phase < now && g.State != blackboard.GrantDone:
			return fmt.Sprintf("the grant of %s is %s and the claim is %s", g.Agent, g.State, s.Claim.Status)
		case g.Phase == blackboard.PhaseExclusive:
			exclusive++
		}
	}
	if exclusive > 1 {
		return "more than one exclusive grant"
	}
	if (s.Claim.Origin == blackboard.OriginRework || s.Claim.Rework) && exclusive == 0 {
		return "a rework without its grant"
	}
	return ""
}

// known says whether a grant can be in this state.
func known(state blackboard.GrantState) bool {
	switch state {
	case blackboard.GrantQueued, blackboard.GrantRunning, blackboard.GrantAwaitingAnswer:
		return true
	}
	return state.Ended()
}
