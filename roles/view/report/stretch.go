package report

import (
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/view"
	"sett/roles/view/lineage"
)

// The lanes that belong to no agent.
const (
	laneOrchestrator = "orchestrator"
	lanePeople       = "people"
)

// stretches makes the timeline: for each claim its wait for bids, for each grant its place
// in the queue, its runs and its questions, and the waits for approvals.
func (r *Report) stretches(h *lineage.History) {
	until := h.Workflow.EndedAt
	if until.IsZero() {
		until = r.Goal.AsOf
	}
	if until.IsZero() && len(h.Events) > 0 {
		until = h.Events[len(h.Events)-1].Time
	}
	feedback := map[string]int{} // from a Review's id to one more than its stretch
	for _, s := range h.Steps {
		c := s.Claim
		if c == nil {
			continue
		}
		_, target := c.Title()
		if c.BidsTook != nil {
			to := c.OpenedAt.Add(time.Duration(*c.BidsTook * float64(time.Second)))
			r.stretch(Stretch{Lane: laneOrchestrator, Kind: WaitsForBids, From: c.OpenedAt, To: to, ClaimID: c.ID, Says: "bids on " + target})
		}
		answers := 0
		for _, f := range c.Feedback {
			if at := feedback[f.ID]; at > 0 && c.Origin == blackboard.OriginRework {
				answers = at
			}
		}
		for _, g := range c.Grants {
			if !g.Kept {
				r.grant(c, g, target, until, answers, feedback)
			}
		}
	}
	for _, a := range r.Artefacts {
		if a.Gate != nil {
			to := a.Gate.DecidedAt
			if to.IsZero() {
				to = until
			}
			r.stretch(Stretch{Lane: lanePeople, Kind: WaitsForGate, From: a.CreatedAt, To: to, ID: a.Gate.ReviewID, Says: a.Name() + " " + a.Gate.Decision(), Tone: a.Gate.Tone()})
		}
	}
	r.sortStretches()
}

// grant adds the stretches of a grant.
func (r *Report) grant(c *lineage.WhyClaim, g lineage.WhyGrant, target string, until time.Time, answers int, feedback map[string]int) {
	lane, end := role.Clean(g.Agent), g.EndedAt
	if g.By != "" {
		lane = lanePeople
	}
	if end.IsZero() {
		end = until
	}
	began := g.StartedAt
	if began.IsZero() {
		began = end
	}
	if g.Queued != nil && *g.Queued > 0 && lane != lanePeople {
		r.stretch(Stretch{Lane: lane, Kind: Queued, From: g.QueuedAt, To: began, ClaimID: c.ID, Says: "queued: " + string(g.Phase) + " on " + target})
	}
	if !g.StartedAt.IsZero() {
		tone := view.GrantTone(blackboard.Grant{State: g.State, Verdict: g.Verdict})
		r.stretch(Stretch{Lane: lane, Kind: Runs, From: g.StartedAt, To: end, ClaimID: c.ID, ID: g.ResultID, Says: string(g.Phase) + " on " + target + ": " + g.Text(), Gist: role.Clean(g.Says), Tone: tone, Answers: answers})
		if g.Verdict == blackboard.Feedback {
			feedback[g.ResultID] = len(r.Timeline)
		}
	}
	for _, q := range g.Questions {
		to := q.AnsweredAt
		if to.IsZero() {
			to = end
		}
		if !q.AskedAt.IsZero() {
			r.stretch(Stretch{Lane: lanePeople, Kind: WaitsForAnswer, From: q.AskedAt, To: to, ClaimID: c.ID, ID: q.ID, Says: "asks: " + q.Says, Tone: view.Warn})
		}
	}
}

// stretch adds a stretch.
func (r *Report) stretch(s Stretch) {
	if s.To.Before(s.From) {
		s.To = s.From
	}
	s.From, s.To, s.Says = s.From.UTC(), s.To.UTC(), role.Clean(s.Says)
	r.Timeline = append(r.Timeline, s)
}

// sortStretches puts the stretches in order of time; Answers follow.
func (r *Report) sortStretches() {
	order := make([]int, len(r.Timeline))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return r.Timeline[a].From.Compare(r.Timeline[b].From) })
	sorted, at := make([]Stretch, len(order)), make([]int, len(order))
	for i, old := range order {
		sorted[i], at[old] = r.Timeline[old], i
	}
	for i := range sorted {
		if a := sorted[i].Answers; a > 0 {
			sorted[i].Answers = at[a-1] + 1
		}
	}
	r.Timeline = sorted
}
