package shell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/grammar"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// completionGoals and completionArtefacts are how many of the newest are offered:
// more than anybody reads, and few enough to be read at once.
const (
	completionGoals     = 20
	completionArtefacts = 50
)

func (r *boardReader) questions() []candidate { return r.matters(r.b.Index.OpenQuestions(r.ctx)) }

func (r *boardReader) gates() []candidate { return r.matters(r.b.Index.OpenGates(r.ctx)) }

// matters are artefacts that somebody waits for.
func (r *boardReader) matters(ids []string, err error) []candidate {
	if err != nil {
		return nil
	}
	return r.outlined(r.outlines(ids))
}

// outlines reads artefacts without their payloads, but with the beginnings of goals and
// questions, to describe them.
func (r *boardReader) outlines(ids []string) []blackboard.Outline {
	all, each, err := r.b.Records.Outlines(r.ctx, ids)
	if err != nil {
		return nil
	}
	var out []blackboard.Outline
	for i := range all {
		if each[i] == nil {
			out = append(out, all[i])
		}
	}
	var texts []*blackboard.Outline
	for i := range out {
		if st := out[i].StructuralType; st == blackboard.Question || out[i].Type == blackboard.TypeGoalDefined {
			texts = append(texts, &out[i])
		}
	}
	_ = r.b.Records.ReadPayloads(r.ctx, texts, view.MaxShown) // without it there is less to say
	return out
}

// outlined are artefacts, newest first.
func (r *boardReader) outlined(all []blackboard.Outline) []candidate {
	slices.SortStableFunc(all, func(x, y blackboard.Outline) int { return cmp.Compare(y.ID, x.ID) })
	var out []candidate
	for i := range all {
		o := &all[i]
		about := view.Title(o.Artefact)
		if o.ProducedByAgent != "" {
			about += " of " + role.Clean(o.ProducedByAgent)
		}
		about += ", " + words.Age(r.now.Sub(o.CreatedAt)) + " ago"
		if text := view.Gist(&o.Artefact); text != "" {
			about += ": " + words.Shorten(role.Clean(text), 60)
		}
		out = append(out, candidate{value: words.Short(o.ID), about: about, id: o.ID})
	}
	return out
}

// newest are the newest artefacts.
func (r *boardReader) newest() []blackboard.Outline {
	all, err := r.b.Records.ListOutlines(r.ctx, blackboard.Filter{Limit: completionArtefacts})
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
	ids, err := r.b.Index.Goals(r.ctx, completionGoals)
	if err != nil || len(ids) == 0 {
		return nil
	}
	return append([]candidate{{value: grammar.LastGoal, about: "the newest goal"}}, r.outlined(r.outlines(ids))...)
}

func (r *boardReader) artefacts() []candidate {
	return slices.Concat(r.lastResult(), r.outlined(r.newest()))
}

// lastResult is the word for the newest goal's result, where there is one.
func (r *boardReader) lastResult() []candidate {
	ids, err := r.b.Index.Goals(r.ctx, 1)
	if err != nil || len(ids) == 0 {
		return nil
	}
	if w, err := r.b.Records.Workflow(r.ctx, ids[0]); err != nil || w.TerminalID == "" {
		return nil
	}
	return []candidate{{value: grammar.LastResult, about: "the newest goal's result"}}
}

// claims are those that are open, and those of the newest goals.
func (r *boardReader) claims() []candidate {
	ids, err := r.b.Index.OpenClaims(r.ctx)
	if err != nil {
		return nil
	}
	goals, _ := r.b.Index.Goals(r.ctx, completionGoals)
	for _, goal := range goals[:min(len(goals), 5)] {
		more, _ := r.b.Index.WorkflowClaims(r.ctx, goal)
		ids = append(ids, more[max(0, len(more)-completionArtefacts):]...)
	}
	return r.described(ids, func(blackboard.Claim) bool { return true })
}

// described are claims that are wanted, newest first.
func (r *boardReader) described(ids []string, want func(blackboard.Claim) bool) []candidate {
	slices.Sort(ids)
	ids = slices.Compact(ids)
	all, each, err := r.b.Records.TryClaims(r.ctx, ids)
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
		out = append(out, candidate{value: words.Short(c.ID), id: c.ID, about: fmt.Sprintf("claim on %s %s, %s, %s ago",
			role.Clean(c.Target.Type), words.Short(c.ArtefactID), role.Clean(string(c.Status)), words.Age(r.now.Sub(c.OpenedAt)))})
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

// results are the goals and the artefacts that have a commit.
func (r *boardReader) results() []candidate {
	return append(r.goals(), r.outlined(slices.DeleteFunc(r.newest(), func(o blackboard.Outline) bool { return !o.NamesCommit() }))...)
}

// inReview are the artefacts with a claim in review.
func (r *boardReader) inReview() []candidate {
	claims, err := r.b.Index.OpenClaims(r.ctx)
	if err != nil {
		return nil
	}
	all, each, err := r.b.Records.TryClaims(r.ctx, claims)
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

// open are the goals and claims that can be cancelled: they have not ended.
func (r *boardReader) open() []candidate {
	claims, err := r.b.Index.OpenClaims(r.ctx)
	if err != nil {
		return nil
	}
	out := r.described(claims, func(blackboard.Claim) bool { return true })
	goals, err := r.b.Index.ActiveWorkflows(r.ctx)
	if err != nil {
		return out
	}
	if newest, err := r.b.Index.Goals(r.ctx, 1); err == nil && len(newest) > 0 && slices.Contains(goals, newest[0]) {
		out = append(out, candidate{value: grammar.LastGoal, about: "the newest goal"})
	}
	return slices.Concat(out, r.outlined(r.outlines(goals)))
}

// claimable are artefacts that agents bid for.
func (r *boardReader) claimable() []candidate {
	return r.outlined(slices.DeleteFunc(r.newest(), func(o blackboard.Outline) bool { return !o.StructuralType.Claimable() }))
}

// retriable are the Failures and claims that can probably be retried: the Failure ended the
// claim, which was neither retried nor led to a rework, and nobody cancelled the goal; or it ended a goal that can
// go on.
func (r *boardReader) retriable() []candidate {
	var failed []blackboard.Outline
	var ids []string // of their claims, each with that of its rework
	for _, o := range r.newest() {
		if o.StructuralType == blackboard.Failure && o.ClaimID != "" {
			failed = append(failed, o)
			ids = append(ids, o.ClaimID, blackboard.ReworkClaimID(o.ClaimID))
		}
	}
	claims, each, err := r.b.Records.TryClaims(r.ctx, ids)
	if err != nil {
		return nil
	}
	cancelled := r.cancelled(failed)
	var left []blackboard.Outline
	ids = nil
	for i, o := range failed {
		c := claims[2*i]
		if each[2*i] == nil && each[2*i+1] != nil && c.Status == blackboard.Terminated && c.RetriedAs == "" && !cancelled[o.WorkflowID] {
			left, ids = append(left, o), append(ids, c.ID)
		}
	}
	left = append(left, r.ends()...)
	var last []candidate
	if goals, err := r.b.Index.Goals(r.ctx, 1); err == nil && slices.ContainsFunc(left, func(o blackboard.Outline) bool { return slices.Contains(goals, o.WorkflowID) }) {
		last = []candidate{{value: grammar.LastGoal, about: "the newest goal"}}
	}
	return slices.Concat(last, r.outlined(left), r.described(ids, func(blackboard.Claim) bool { return true }))
}

// ends are the Failures that belong to no claim, and after which their goals can go on.
func (r *boardReader) ends() []blackboard.Outline {
	var ends []blackboard.Outline
	var goals []string
	for _, o := range r.newest() {
		if o.StructuralType == blackboard.Failure && o.ClaimID == "" && blackboard.CanRetryEnd(o.Type) {
			ends, goals = append(ends, o), append(goals, o.WorkflowID)
		}
	}
	workflows, each, err := r.b.Records.TryWorkflows(r.ctx, goals)
	if err != nil {
		return nil
	}
	var left []blackboard.Outline
	for i, o := range ends {
		if each[i] == nil && workflows[i].Status == blackboard.WorkflowFailed && !workflows[i].HasRetried(o.ID) {
			left = append(left, o)
		}
	}
	return left
}

// cancelled are the goals of artefacts that somebody cancelled as a whole.
func (r *boardReader) cancelled(of []blackboard.Outline) map[string]bool {
	var goals, ends []string
	for _, o := range of {
		goals = append(goals, o.WorkflowID)
	}
	slices.Sort(goals)
	workflows, each, err := r.b.Records.TryWorkflows(r.ctx, slices.Compact(goals))
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
	all, err := r.b.Records.ListOutlines(r.ctx, blackboard.Filter{Limit: 4 * completionArtefacts})
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
