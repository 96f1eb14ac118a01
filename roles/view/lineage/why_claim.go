package lineage

import (
	"cmp"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// claim makes the WhyClaim of a claim of the chain.
func (r *whyReader) claim(s blackboard.Snapshot) (WhyClaim, error) {
	c := WhyClaim{
		ID: s.Claim.ID, ArtefactID: s.Claim.ArtefactID, Target: s.Claim.Target, Origin: s.Claim.Origin, Feedback: []view.Brief{},
		RetryOf: s.Claim.RetryOf, RetriedAs: s.Claim.RetriedAs, Status: s.Claim.Status, Reason: s.Claim.Reason,
		Bids: make([]WhyBid, len(s.Bids)), Grants: []WhyGrant{}, OpenedAt: s.Claim.OpenedAt, ClosedAt: s.Claim.ClosedAt,
		Took: view.Seconds(s.Claim.OpenedAt, s.Claim.ClosedAt),
	}
	for i, b := range s.Bids {
		c.Bids[i].Bid = b
	}
	if f := r.cancelled(s.Claim); f != nil {
		c.Cancelled = &WhyCancel{FailureID: f.ID, By: blackboard.PersonOf(f.Artefact), Why: view.GistOf(f), CancelledAt: f.CreatedAt}
	}
	for _, id := range s.Claim.AdditionalContextIDs {
		if review := r.artefacts[id]; review != nil {
			c.Feedback = append(c.Feedback, view.BriefOf(review))
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
	return c, r.record(&c, s.Grants)
}

// bidsTook is the time that a claim waited for its bids: until its first grant, or until
// it closed without one. nil: the claim has no bids, was not opened for a new artefact or
// is open without a grant, or the time is unknown because grants were queued again.
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
	return view.Seconds(s.Claim.OpenedAt, first)
}

func (r *whyReader) grant(g blackboard.Grant, c blackboard.Claim) WhyGrant {
	out := WhyGrant{
		Phase: g.Phase, Agent: g.Agent, Attempt: g.Attempt, Crashes: g.Crashes, Base: g.Base, State: g.State, Verdict: g.Verdict,
		ResultID: g.ResultID, Reason: g.Reason, Questions: []WhyQuestion{}, QueuedAt: g.QueuedAt, StartedAt: g.StartedAt,
		EndedAt: g.EndedAt, Kept: c.RetryOf != "" && g.State.Ended() && g.EndedAt.Before(c.OpenedAt), Took: view.Seconds(g.StartedAt, g.EndedAt),
	}
	if !g.StartedAt.IsZero() && !g.StartedAt.Before(g.QueuedAt) { // else it is the start of the attempt before
		out.Queued = view.Seconds(g.QueuedAt, g.StartedAt)
	}
	if g.ToolTime > 0 {
		tool := g.ToolTime.Seconds()
		out.Tool = &tool
	}
	if a := r.artefacts[g.ResultID]; a != nil {
		out.Title, out.Says = view.Title(view.Beginnings(a)), view.GistOf(a)
		out.By, out.Models = blackboard.PersonOf(a.Artefact), view.ModelsOf(a.Artefact)
	}
	for _, id := range g.Unmerged {
		u := WhyUnmerged{ID: id}
		if a := r.artefacts[id]; a != nil {
			u.Title, u.By = view.Title(view.Beginnings(a)), view.Maker(a.Artefact)
		}
		out.Unmerged = append(out.Unmerged, u)
	}
	for i := 0; i < len(g.Asked); i += 2 { // questions and answers alternate
		q := WhyQuestion{ID: g.Asked[i]}
		asked := r.artefacts[q.ID]
		if asked != nil {
			q.Says, q.AskedAt = view.GistOf(asked), asked.CreatedAt
		}
		if i+1 < len(g.Asked) {
			q.AnswerID = g.Asked[i+1]
			if answer := r.artefacts[q.AnswerID]; answer != nil {
				q.Answer, q.By, q.AnsweredAt = view.GistOf(answer), blackboard.PersonOf(answer.Artefact), answer.CreatedAt
				q.Waited = view.Seconds(q.AskedAt, q.AnsweredAt)
			}
		}
		out.Questions = append(out.Questions, q)
	}
	return out
}

// cancelled returns the Failure by which a person ended a claim, or its goal.
func (r *whyReader) cancelled(c blackboard.Claim) *blackboard.Outline {
	if r.cancels == nil {
		r.cancels = []*blackboard.Outline{}
		for _, id := range r.ids {
			if f := r.artefacts[id]; f != nil && f.StructuralType == blackboard.Failure && f.Type == blackboard.TypeCancelled {
				r.cancels = append(r.cancels, f)
			}
		}
	}
	for _, f := range r.cancels {
		// The move that ends a goal closes its claims at the time of its Failure.
		if f.ClaimID == c.ID || f.ClaimID == "" && c.ClosedAt.Equal(f.CreatedAt) {
			return f
		}
	}
	return nil
}

// retried reads the author of a retry and the reason from the ledger, at the time of the
// claim's opening: the claim has neither. Both stay empty if the ledger has no such entry.
func (r *whyReader) retried(c *WhyClaim) error {
	const most = 2000
	events, err := r.ledger.History(r.ctx, blackboard.PositionAt(c.OpenedAt.Add(-near)), most)
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

// because says in words why a claim was opened.
func (r *whyReader) because(claim blackboard.Claim, c WhyClaim) string {
	switch {
	case c.Origin == blackboard.OriginRetry:
		said := "as a retry of claim " + words.Short(c.RetryOf)
		if c.RetriedBy != "" {
			said = fmt.Sprintf("as a retry by %s of claim %s", role.Clean(c.RetriedBy), words.Short(c.RetryOf))
		}
		return said + words.Because(role.Clean(c.RetryWhy))
	case c.Origin == blackboard.OriginRework:
		var who []string
		for _, review := range c.Feedback {
			if review.StructuralType == blackboard.Review {
				who = append(who, review.Maker)
			}
		}
		return "after feedback" + strings.TrimSuffix(" by "+strings.Join(who, ", "), " by ")
	case c.ArtefactID == claim.WorkflowID:
		return "for the goal"
	case c.Target.Version > 1:
		return fmt.Sprintf("for version %d by %s", c.Target.Version, role.Clean(cmp.Or(c.Target.Agent, c.Target.Role)))
	}
	return fmt.Sprintf("for a new artefact by %s", role.Clean(cmp.Or(c.Target.Agent, c.Target.Role)))
}
