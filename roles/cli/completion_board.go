package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// completionGoals and completionArtefacts are how many of the newest are offered:
// more than anybody reads, and few enough to be read at once.
const (
	completionGoals     = 20
	completionArtefacts = 50
)

func (r *boardReader) questions() []candidate { return r.matters(r.b.OpenQuestions(r.ctx)) }

func (r *boardReader) gates() []candidate { return r.matters(r.b.OpenGates(r.ctx)) }

// matters are artefacts that somebody waits for.
func (r *boardReader) matters(ids []string, err error) []candidate {
	if err != nil {
		return nil
	}
	return r.outlined(r.outlines(ids))
}

// outlines reads artefacts without their payloads, but for the beginnings of goals and
// questions, which say what they are.
func (r *boardReader) outlines(ids []string) []redis.Outline {
	all, each, err := r.b.Outlines(r.ctx, ids)
	if err != nil {
		return nil
	}
	var out []redis.Outline
	for i := range all {
		if each[i] == nil {
			out = append(out, all[i])
		}
	}
	var texts []*redis.Outline
	for i := range out {
		if st := out[i].StructuralType; st == blackboard.Question || out[i].Type == blackboard.TypeGoalDefined {
			texts = append(texts, &out[i])
		}
	}
	_ = r.b.ReadPayloads(r.ctx, texts, maxShown) // without it there is less to say
	return out
}

// outlined are artefacts, newest first.
func (r *boardReader) outlined(all []redis.Outline) []candidate {
	slices.SortStableFunc(all, func(x, y redis.Outline) int { return cmp.Compare(y.ID, x.ID) })
	var out []candidate
	for i := range all {
		o := &all[i]
		about := title(o.Artefact)
		if o.ProducedByAgent != "" {
			about += " of " + clean(o.ProducedByAgent)
		}
		about += ", " + age(r.now.Sub(o.CreatedAt)) + " ago"
		if text := gist(&o.Artefact); text != "" {
			about += ": " + shorten(clean(text), 60)
		}
		out = append(out, candidate{value: short(o.ID), about: about, id: o.ID})
	}
	return out
}

// newest are the newest artefacts.
func (r *boardReader) newest() []redis.Outline {
	all, err := r.b.ListOutlines(r.ctx, redis.Filter{Limit: completionArtefacts})
	if err != nil {
		return nil
	}
	var ids []string
	for i := range all {
		ids = append(ids, all[i].ID)
	}
	return r.outlines(ids)
}

func (r *boardReader) goals() []candidate {
	ids, err := r.b.Goals(r.ctx, completionGoals)
	if err != nil || len(ids) == 0 {
		return nil
	}
	return append([]candidate{{value: lastGoal, about: "the newest goal"}}, r.outlined(r.outlines(ids))...)
}

func (r *boardReader) artefacts() []candidate { return r.outlined(r.newest()) }

// claims are those that are open, and those of the newest goals.
func (r *boardReader) claims() []candidate {
	ids, err := r.b.OpenClaims(r.ctx)
	if err != nil {
		return nil
	}
	goals, _ := r.b.Goals(r.ctx, completionGoals)
	for _, goal := range goals[:min(len(goals), 5)] {
		more, _ := r.b.WorkflowClaims(r.ctx, goal)
		ids = append(ids, more[max(0, len(more)-completionArtefacts):]...)
	}
	return r.described(ids, func(blackboard.Claim) bool { return true })
}

// described are claims that are wanted, newest first.
func (r *boardReader) described(ids []string, want func(blackboard.Claim) bool) []candidate {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	all, each, err := r.b.TryClaims(r.ctx, ids)
	if err != nil {
		return nil
	}
	var known []blackboard.Claim
	for i := range all {
		if each[i] == nil && want(all[i]) {
			known = append(known, all[i])
		}
	}
	slices.SortStableFunc(known, func(x, y blackboard.Claim) int { return y.OpenedAt.Compare(x.OpenedAt) })
	var out []candidate
	for _, c := range known {
		out = append(out, candidate{value: short(c.ID), id: c.ID, about: fmt.Sprintf("claim on %s %s, %s, %s ago",
			clean(c.Target.Type), short(c.ArtefactID), clean(string(c.Status)), age(r.now.Sub(c.OpenedAt)))})
	}
	return out
}

// everything is goals, artefacts and claims.
func (r *boardReader) everything() []candidate {
	out := slices.Concat(r.goals(), r.artefacts(), r.claims())
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(c candidate) bool {
		twice := seen[c.value]
		seen[c.value] = true
		return twice
	})
}

// inReview are the artefacts whose claims are in review.
func (r *boardReader) inReview() []candidate {
	claims, err := r.b.OpenClaims(r.ctx)
	if err != nil {
		return nil
	}
	all, each, err := r.b.TryClaims(r.ctx, claims)
	if err != nil {
		return nil
	}
	var ids []string
	for i := range all {
		if each[i] == nil && all[i].Status == blackboard.PendingReview {
			ids = append(ids, all[i].ArtefactID)
		}
	}
	return r.outlined(r.outlines(ids))
}

// open is what can be cancelled: goals and claims that are not at their end.
func (r *boardReader) open() []candidate {
	claims, err := r.b.OpenClaims(r.ctx)
	if err != nil {
		return nil
	}
	out := r.described(claims, func(blackboard.Claim) bool { return true })
	goals, err := r.b.ActiveWorkflows(r.ctx)
	if err != nil {
		return out
	}
	if newest, err := r.b.Goals(r.ctx, 1); err == nil && len(newest) > 0 && slices.Contains(goals, newest[0]) {
		out = append(out, candidate{value: lastGoal, about: "the newest goal"})
	}
	return slices.Concat(out, r.outlined(r.outlines(goals)))
}

// claimable are artefacts that agents bid for.
func (r *boardReader) claimable() []candidate {
	return r.outlined(slices.DeleteFunc(r.newest(), func(o redis.Outline) bool { return !o.StructuralType.Claimable() }))
}

// retriable are what can be retried, as far as it is told without trying: Failures that
// ended a claim which was neither retried nor leads to a rework, of goals that nobody
// cancelled; and those claims.
func (r *boardReader) retriable() []candidate {
	var failed []redis.Outline
	var ids []string // of their claims, each with that of its rework
	for _, o := range r.newest() {
		if o.StructuralType == blackboard.Failure && o.ClaimID != "" {
			failed = append(failed, o)
			ids = append(ids, o.ClaimID, blackboard.ReworkClaimID(o.ClaimID))
		}
	}
	claims, each, err := r.b.TryClaims(r.ctx, ids)
	if err != nil {
		return nil
	}
	cancelled := r.cancelled(failed)
	var left []redis.Outline
	ids = nil
	for i, o := range failed {
		c := claims[2*i]
		if each[2*i] == nil && each[2*i+1] != nil && c.Status == blackboard.Terminated && c.RetriedAs == "" && !cancelled[o.WorkflowID] {
			left, ids = append(left, o), append(ids, c.ID)
		}
	}
	return slices.Concat(r.outlined(left), r.described(ids, func(blackboard.Claim) bool { return true }))
}

// cancelled are the goals of artefacts that somebody cancelled as a whole.
func (r *boardReader) cancelled(of []redis.Outline) map[string]bool {
	var goals, ends []string
	for _, o := range of {
		goals = append(goals, o.WorkflowID)
	}
	slices.Sort(goals)
	workflows, each, err := r.b.TryWorkflows(r.ctx, slices.Compact(goals))
	if err != nil {
		return nil
	}
	for i, w := range workflows {
		if each[i] == nil && w.FailureID != "" {
			ends = append(ends, w.FailureID)
		}
	}
	all := map[string]bool{}
	for _, o := range r.outlines(ends) {
		if o.Type == blackboard.TypeCancelled && o.ClaimID == "" {
			all[o.WorkflowID] = true
		}
	}
	return all
}

// types are the types of the newest artefacts.
func (r *boardReader) types() []candidate {
	all, err := r.b.ListOutlines(r.ctx, redis.Filter{Limit: 4 * completionArtefacts})
	if err != nil {
		return nil
	}
	var out []candidate
	for i := range all {
		out = append(out, candidate{value: all[i].Type, about: strings.ToLower(string(all[i].StructuralType))})
	}
	slices.SortFunc(out, func(x, y candidate) int { return cmp.Compare(x.value, y.value) })
	return slices.CompactFunc(out, func(x, y candidate) bool { return x.value == y.value })
}
