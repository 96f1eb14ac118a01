package arbiter

import (
	"slices"
	"strings"
	"time"

	"sett/blackboard"
)

// Course is the row of decisions about a claim while each of its grants ends well: its
// phases, and then the claim is complete. The scripts on the blackboard follow it without
// the orchestrator. An empty course completes the claim at once, since no agent wants it.
type Course []Step

// Step is the grant of one phase.
type Step struct {
	Phase  blackboard.Phase
	Agents []string // in the order of their bids
}

// Unroll asks Decide about a claim with all bids and no grant, imagines that each grant
// ends well, and asks again until the claim is complete. It reports false for a claim
// that takes another course: bids are missing, a grant was given, a person has reviewed,
// or its record is broken. It neither changes nor keeps its arguments.
func Unroll(s blackboard.Snapshot, p Policy) (Course, bool) {
	if len(s.Grants) > 0 {
		return nil, false
	}
	course := Course{}
	for range len(blackboard.Phases) + 1 {
		switch d := Decide(s, p, time.Time{}); d.Kind {
		case Complete:
			return course, true
		case GrantPhase:
			course = append(course, Step{d.Phase, d.Agents})
			s = endedWell(s, d)
		default:
			return nil, false
		}
	}
	return nil, false
}

// endedWell returns the snapshot after a decision whose grants all ended well: Reviews
// approve.
func endedWell(s blackboard.Snapshot, d Decision) blackboard.Snapshot {
	s.Claim.Status = d.Phase.Status()
	switch d.Phase {
	case blackboard.PhaseReview:
		s.Claim.GrantedReviewAgents = d.Agents
	case blackboard.PhaseParallel:
		s.Claim.GrantedParallelAgents = d.Agents
	default:
		s.Claim.GrantedExclusiveAgent = d.Agents[0]
	}
	grants := append([]blackboard.Grant{}, s.Grants...)
	for _, agent := range d.Agents {
		g := blackboard.Grant{Agent: agent, Phase: d.Phase, Attempt: 1, State: blackboard.GrantDone}
		if d.Phase == blackboard.PhaseReview {
			g.Verdict = blackboard.Approve
		}
		grants = append(grants, g)
	}
	s.Grants = grants
	return s
}

// Text is the course as the blackboard keeps it: review:a,b;parallel:c;exclusive:+d, with
// a plus before agents of a kind.
func (c Course) Text(marked func(agent string) bool) string {
	steps := make([]string, len(c))
	for i, s := range c {
		agents := slices.Clone(s.Agents)
		for j, agent := range agents {
			if marked(agent) {
				agents[j] = "+" + agent
			}
		}
		steps[i] = string(s.Phase) + ":" + strings.Join(agents, ",")
	}
	return strings.Join(steps, ";")
}
