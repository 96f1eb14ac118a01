package arbiter

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
)

// decidePhase finds the first phase, from the claim's status on, that is not over: it
// needs its grants, or their ends. A phase without bids is over. The claim's past does
// not matter, so these need no rules of their own: reworks, which start with a grant
// and no bids; retried claims, which start with finished phases; and artefacts that a
// person rejected, which start with that Review.
func decidePhase(s blackboard.Snapshot, p Policy, now time.Time) Decision {
	for _, phase := range blackboard.Phases[place(s.Claim.Status):] {
		grants := granted(s, phase)
		if !slices.ContainsFunc(grants, blackboard.Grant.OfAgent) {
			if agents := bidders(s, p, phase); len(agents) > 0 {
				return Decision{Kind: GrantPhase, Phase: phase, Agents: agents}
			}
		}
		if g, ok := unanswered(grants, p, now); ok {
			return Decision{
				Kind: FailGrant, Agents: []string{g.Agent}, FailureType: blackboard.TypeQuestionTimeout,
				Reason: fmt.Sprintf("nobody answered within %s (orchestrator.question_timeout)", p.QuestionTimeout),
			}
		}
		if slices.ContainsFunc(grants, func(g blackboard.Grant) bool { return !g.State.Ended() }) {
			return Decision{Kind: Wait, AskAgain: nextTimeout(grants, p)}
		}
		if phase == blackboard.PhaseReview {
			if against := rejections(grants); len(against) > 0 {
				return decideRework(s.Claim, p, against)
			}
		}
	}
	d := Decision{Kind: Complete}
	if !slices.ContainsFunc(s.Grants, blackboard.Grant.OfAgent) {
		d.Reason = ReasonUnwanted
	}
	return d
}

// place returns the index, in blackboard.Phases, of the phase of an open claim's
// status; -1: it is not the status of an open claim.
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

// unanswered finds a question that a person has been asked for too long.
func unanswered(grants []blackboard.Grant, p Policy, now time.Time) (g blackboard.Grant, ok bool) {
	for _, g := range grants {
		if at := timeout(g, p); !at.IsZero() && !now.Before(at) {
			return g, true
		}
	}
	return g, false
}

// nextTimeout returns when the first of the questions has been asked for too
// long; zero when none ever has.
func nextTimeout(grants []blackboard.Grant, p Policy) (next time.Time) {
	for _, g := range grants {
		if at := timeout(g, p); !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}

// timeout returns when a grant has waited too long for an answer; zero: never.
func timeout(g blackboard.Grant, p Policy) time.Time {
	asked := firstKnown(g.EndedAt, g.QueuedAt)
	if g.State != blackboard.GrantAwaitingAnswer || p.QuestionTimeout <= 0 || asked.IsZero() {
		return time.Time{}
	}
	return asked.Add(p.QuestionTimeout)
}

// firstKnown returns the first time that is not zero.
func firstKnown(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// rejections returns the grants of Reviews that did not approve. A Review without a
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

// reviewer is a reviewer's name for people.
func reviewer(g blackboard.Grant) string {
	if name, ok := blackboard.PersonName(g.Agent); ok {
		return name
	}
	return g.Agent
}

// decideRework ends a claim on a rejected artefact: with a rework by the agent that
// made it, or with a Failure that gives the reason against a rework.
func decideRework(c blackboard.Claim, p Policy, against []blackboard.Grant) Decision {
	var reviewers, reviews []string
	for _, g := range against {
		reviewers = append(reviewers, reviewer(g))
		if g.ResultID != "" {
			reviews = append(reviews, g.ResultID)
		}
	}
	if t := c.Target; t.Agent == "" && t.Role == blackboard.RoleRepository { // the result is sent back, and the landing tried anew
		return Decision{Kind: Terminate, Reason: "feedback by " + strings.Join(reviewers, ", ")}
	}
	return SendBack(c.ArtefactID, c.Target, p, reviewers, reviews)
}

// SendBack ends work on an artefact of which reviewers want another version: with a rework by
// the agent that made it, or with a Failure that gives the reason against a rework.
func SendBack(artefact string, t blackboard.Target, p Policy, reviewers, reviews []string) Decision {
	d := Decision{Kind: Terminate, Reason: "feedback by " + strings.Join(reviewers, ", ")}
	limit := fmt.Sprintf("version %d has used up max_review_iterations: %d", t.Version, p.MaxReviewIterations)
	switch bar := t.ReworkBar(p.Clan, p.MaxReviewIterations, p.AskAtReviewLimit); {
	case t.Agent == "":
		d.FailureType = FailureGoalRejected
		d.Reason += "; nobody can rework what a person made"
	case bar == blackboard.TypeReviewLimit:
		d.FailureType = bar
		d.Reason += "; " + limit
	case bar != "":
		d.FailureType = bar
		d.Reason += "; agent " + t.Agent + ", which made it, is no longer in sett.yml"
	case t.UsedUp(p.MaxReviewIterations):
		d.Reason += "; " + limit
		d.Rework = &Rework{Agent: t.Agent, Context: reviews, Ask: fmt.Sprintf(
			"%s %s has feedback by %s, and %s. What is %s to do? It goes on with your answer and the feedback.",
			t.Type, blackboard.ShortID(artefact), strings.Join(reviewers, ", "), limit, t.Agent)}
	default:
		d.Rework = &Rework{Agent: t.Agent, Context: reviews}
	}
	return d
}
