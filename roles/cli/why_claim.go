package cli

import (
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// claim tells of a claim on the way.
func (r *whyReader) claim(s blackboard.Snapshot) (whyClaim, error) {
	c := whyClaim{
		ID: s.Claim.ID, ArtefactID: s.Claim.ArtefactID, Target: s.Claim.Target, Origin: s.Claim.Origin, Feedback: []artefactBrief{},
		RetryOf: s.Claim.RetryOf, RetriedAs: s.Claim.RetriedAs, Status: s.Claim.Status, Reason: s.Claim.Reason,
		Bids: s.Bids, Grants: []whyGrant{}, OpenedAt: s.Claim.OpenedAt, ClosedAt: s.Claim.ClosedAt,
		Took: seconds(s.Claim.OpenedAt, s.Claim.ClosedAt),
	}
	if f := r.cancelled(s.Claim); f != nil {
		c.Cancelled = &whyCancel{FailureID: f.ID, By: blackboard.PersonOf(f.Artefact), Why: gistOf(f), CancelledAt: f.CreatedAt}
	}
	for _, id := range s.Claim.AdditionalContextIDs {
		if review := r.artefacts[id]; review != nil {
			c.Feedback = append(c.Feedback, briefOf(review))
		}
	}
	if c.Origin == blackboard.OriginRetry {
		if err := r.retried(&c); err != nil {
			return c, err
		}
	}
	for _, phase := range blackboard.Phases {
		for _, g := range s.Grants {
			if g.Phase == phase {
				c.Grants = append(c.Grants, r.grant(g, s.Claim))
			}
		}
	}
	c.BidsTook = bidsTook(s)
	c.Because = r.because(s.Claim, c)
	return c, nil
}

// bidsTook is how long a claim waited for its bids: until something was granted
// for the first time, or until it was closed. Unknown where grants have been queued
// again since, and nothing where none were waited for.
func bidsTook(s blackboard.Snapshot) *float64 {
	if s.Claim.Origin != blackboard.OriginArtefact || len(s.Bids) == 0 {
		return nil
	}
	first, known := s.Claim.ClosedAt, len(s.Grants) == 0
	for _, g := range s.Grants {
		if g.OfAgent() && (!known || g.QueuedAt.Before(first)) {
			first, known = g.QueuedAt, g.Attempt == 1
		}
	}
	if !known {
		return nil
	}
	return seconds(s.Claim.OpenedAt, first)
}

func (r *whyReader) grant(g blackboard.Grant, c blackboard.Claim) whyGrant {
	out := whyGrant{
		Phase: g.Phase, Agent: g.Agent, Attempt: g.Attempt, Crashes: g.Crashes, State: g.State, Verdict: g.Verdict,
		ResultID: g.ResultID, Reason: g.Reason, Questions: []whyQuestion{}, QueuedAt: g.QueuedAt, StartedAt: g.StartedAt,
		EndedAt: g.EndedAt, Kept: c.RetryOf != "" && g.State.Ended() && g.EndedAt.Before(c.OpenedAt), Took: seconds(g.StartedAt, g.EndedAt),
	}
	if !g.StartedAt.IsZero() && !g.StartedAt.Before(g.QueuedAt) { // else it is that of the attempt before
		out.Queued = seconds(g.QueuedAt, g.StartedAt)
	}
	if g.ToolTime > 0 {
		tool := g.ToolTime.Seconds()
		out.Tool = &tool
	}
	if a := r.artefacts[g.ResultID]; a != nil {
		out.Title, out.Says = title(beginnings(a)), gistOf(a)
		out.By = blackboard.PersonOf(a.Artefact)
	}
	for i := 0; i < len(g.Asked); i += 2 { // questions and answers alternate
		q := whyQuestion{ID: g.Asked[i]}
		asked := r.artefacts[q.ID]
		if asked != nil {
			q.Says, q.AskedAt = gistOf(asked), asked.CreatedAt
		}
		if i+1 < len(g.Asked) {
			q.AnswerID = g.Asked[i+1]
			if answer := r.artefacts[q.AnswerID]; answer != nil {
				q.Answer, q.By, q.AnsweredAt = gistOf(answer), blackboard.PersonOf(answer.Artefact), answer.CreatedAt
				q.Waited = seconds(q.AskedAt, q.AnsweredAt)
			}
		}
		out.Questions = append(out.Questions, q)
	}
	return out
}

// cancelled returns the Failure by which a person ended a claim, or its goal.
func (r *whyReader) cancelled(c blackboard.Claim) *redis.Outline {
	for _, id := range r.ids {
		f := r.artefacts[id]
		if f == nil || f.StructuralType != blackboard.Failure || f.Type != blackboard.TypeCancelled {
			continue
		}
		// Who ends a goal ends its claims at the moment in which the Failure is written.
		if f.ClaimID == c.ID || f.ClaimID == "" && c.ClosedAt.Equal(f.CreatedAt) {
			return f
		}
	}
	return nil
}

// retried finds out who wanted a retry, and why: that is in the ledger only, beside
// the claim's opening. Where the ledger does not say it, nobody is named.
func (r *whyReader) retried(c *whyClaim) error {
	const near, most = 50 * time.Millisecond, 2000
	events, err := r.b.History(r.ctx, redis.PositionAt(c.OpenedAt.Add(-near)), most)
	if err != nil {
		return err
	}
	for _, e := range events {
		if e.Kind == blackboard.EventRetry && e.Claim == c.ID {
			c.RetriedBy, c.RetryWhy = e.Attributes[blackboard.AttributeBy], e.Reason
			return nil
		}
	}
	return nil
}

// because says why a claim was opened.
func (r *whyReader) because(claim blackboard.Claim, c whyClaim) string {
	switch {
	case c.Origin == blackboard.OriginRetry:
		said := "as a retry of claim " + short(c.RetryOf)
		if c.RetriedBy != "" {
			said = fmt.Sprintf("as a retry by %s of claim %s", clean(c.RetriedBy), short(c.RetryOf))
		}
		return said + because(clean(c.RetryWhy))
	case c.Origin == blackboard.OriginRework:
		var who []string
		for _, review := range c.Feedback {
			if review.StructuralType == blackboard.Review {
				who = append(who, review.maker)
			}
		}
		return "after feedback" + strings.TrimSuffix(" by "+strings.Join(who, ", "), " by ")
	case c.ArtefactID == claim.WorkflowID:
		return "for the goal"
	case c.Target.Version > 1:
		return fmt.Sprintf("for version %d by %s", c.Target.Version, clean(orElse(c.Target.Agent, c.Target.Role)))
	}
	return fmt.Sprintf("for a new artefact by %s", clean(orElse(c.Target.Agent, c.Target.Role)))
}
