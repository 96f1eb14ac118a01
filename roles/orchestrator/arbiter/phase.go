package arbiter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
)

// decidePhase finds the first phase, from the claim's status on, that is not
// over, and says what it needs: its grants, or their ends. A phase that nobody
// bid for is over. It does not ask how the claim got here, so reworks, which
// start with a grant and no bids, and retried claims, which start with phases
// done, need no rules of their own.
func decidePhase(s blackboard.Snapshot, p Policy) Decision {
	for _, phase := range blackboard.Phases[place(s.Claim.Status):] {
		grants := granted(s, phase)
		if len(grants) == 0 {
			if agents := bidders(s, p, phase); len(agents) > 0 {
				return Decision{Kind: GrantPhase, Phase: phase, Agents: agents}
			}
			continue
		}
		if waits := waitsFor(grants); len(waits) > 0 {
			return Decision{Kind: Wait, Waits: waits}
		}
		if phase == blackboard.PhaseReview {
			if against := rejections(grants); len(against) > 0 {
				return decideRework(s.Claim, p, against)
			}
		}
	}
	d := Decision{Kind: Complete}
	if len(s.Grants) == 0 {
		d.Reason = ReasonUnwanted
	}
	return d
}

// place returns the index, in blackboard.Phases, of the phase that an open
// claim's status is about, and -1 for what is not the status of an open claim.
func place(status blackboard.ClaimStatus) int {
	return slices.IndexFunc(blackboard.Phases, func(p blackboard.Phase) bool { return p.Status() == status })
}

// granted returns the grants of a phase in the order they were granted in.
func granted(s blackboard.Snapshot, phase blackboard.Phase) []blackboard.Grant {
	var order []string
	switch phase {
	case blackboard.PhaseReview:
		order = s.Claim.GrantedReviewAgents
	case blackboard.PhaseParallel:
		order = s.Claim.GrantedParallelAgents
	}
	var grants []blackboard.Grant
	for _, g := range s.Grants {
		if g.Phase == phase {
			grants = append(grants, g)
		}
	}
	slices.SortStableFunc(grants, func(a, b blackboard.Grant) int {
		return slices.Index(order, a.Agent) - slices.Index(order, b.Agent)
	})
	return grants
}

// waitsFor names what the grants that have not ended wait for.
func waitsFor(grants []blackboard.Grant) []WaitFor {
	var waits []WaitFor
	for _, g := range grants {
		w := WaitFor{Agent: g.Agent}
		switch g.State {
		case blackboard.GrantQueued:
			w.What, w.Since = ForStart, g.QueuedAt
		case blackboard.GrantRunning:
			w.What, w.Since = ForResult, g.StartedAt
		case blackboard.GrantAwaitingAnswer:
			w.What, w.Since, w.Subject = ForAnswer, g.EndedAt, g.ResultID
		default:
			continue
		}
		w.Since = firstKnown(w.Since, g.QueuedAt)
		waits = append(waits, w)
	}
	return waits
}

// firstKnown returns the first time that is not zero.
func firstKnown(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// rejections returns the grants whose Review did not approve. One without a
// verdict did not.
func rejections(grants []blackboard.Grant) []blackboard.Grant {
	var against []blackboard.Grant
	for _, g := range grants {
		if g.Verdict != blackboard.Approve {
			against = append(against, g)
		}
	}
	return against
}

// decideRework ends a claim whose artefact was rejected: with a rework by who
// made it, or with a Failure that says why there can be none.
func decideRework(c blackboard.Claim, p Policy, against []blackboard.Grant) Decision {
	var reviewers, reviews []string
	for _, g := range against {
		reviewers = append(reviewers, g.Agent)
		if g.ResultID != "" {
			reviews = append(reviews, g.ResultID)
		}
	}
	d := Decision{Kind: Terminate, Reason: "feedback by " + strings.Join(reviewers, ", ")}
	switch t := c.Target; {
	case t.Agent == "":
		d.FailureType = FailureGoalRejected
		d.Reason += "; nobody can rework what a person made"
	case p.MaxReviewIterations > 0 && t.Version-1 >= p.MaxReviewIterations:
		d.FailureType = blackboard.TypeReviewLimit
		d.Reason += fmt.Sprintf("; version %d has used up max_review_iterations: %d", t.Version, p.MaxReviewIterations)
	case !slices.Contains(p.Clan, t.Agent):
		d.FailureType = blackboard.TypeAgentRemoved
		d.Reason += "; agent " + t.Agent + ", which made it, is no longer in sett.yml"
	default:
		d.Rework = &Rework{Agent: t.Agent, Context: reviews}
	}
	return d
}
