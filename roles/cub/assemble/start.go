package assemble

import (
	"context"
	"slices"

	"sett/blackboard"
)

// Task is everything that a grant's tool begins with.
type Task struct {
	Chain   []blackboard.Artefact // as of Chain
	Missing []string              // as of Chain
	// Starts are the artefacts from whose commits the tool's tree starts, in their order;
	// none: it starts from the goal's base.
	Starts []blackboard.Artefact
}

// ForTask is Chain with the decision where the tool's tree starts. Joined are the results
// of the claim's parallel phase, for its exclusive grant.
//
// An artefact stands for its commit. One without a commit stands for those that its sources
// stand for, each in its latest version. The tree starts from the commits for which
// the target stands, as it is, and from the commits of joined, the oldest first. Settled artefacts
// took the place of both sides of conflicts among them: a newer version that of the older one, any
// other comes first, since it has both.
//
// A Conflict, or a Review of the role repository, is about commits of others, and stands for none.
//
// It costs more reads than Chain only where no artefact of ten levels has a commit.
func ForTask(ctx context.Context, r Reader, target blackboard.Artefact, extra, joined, settled []string) (Task, error) {
	h := newHistory(target)
	want := slices.Concat(extra, joined, settled)
	for {
		reached, err := h.complete(ctx, r, want)
		if err != nil {
			return Task{}, err
		}
		starts, unknown := h.starts(joined, settled)
		if want = h.unread(unknown); len(want) == 0 {
			return Task{Chain: h.list(reached, extra), Missing: h.missing, Starts: starts}, nil
		}
	}
}

// starts applies the rule to the artefacts read so far. Its answer counts when it needs
// no unknown one.
func (h *history) starts(joined, settled []string) (starts []blackboard.Artefact, unknown []string) {
	met := map[string]bool{}
	add := func(a *blackboard.Artefact) {
		if !slices.ContainsFunc(starts, func(s blackboard.Artefact) bool { return s.ID == a.ID }) {
			starts = append(starts, *a)
		}
	}
	read := func(id string) *blackboard.Artefact {
		a, known := h.known[id]
		if !known {
			unknown = append(unknown, id)
		}
		return a
	}
	var stand func(id string)
	stand = func(id string) {
		if met[id] {
			return
		}
		met[id] = true
		a := read(id)
		if a == nil {
			return
		}
		if newer := h.latest[a.LogicalID]; newer != "" && newer != id {
			stand(newer)
			if n := h.known[newer]; n != nil && n.CommitHash() != "" {
				return
			}
		}
		if a.CommitHash() != "" && (id == h.target.ID || !aboutOthers(a)) {
			add(a)
			return
		}
		for _, source := range a.SourceArtefacts {
			stand(source)
		}
	}
	stand(h.target.ID)
	for _, id := range joined {
		if a := read(id); a != nil && a.CommitHash() != "" {
			add(a)
		}
	}
	slices.SortStableFunc(starts, func(a, b blackboard.Artefact) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, id := range settled {
		a := read(id)
		if a == nil {
			continue
		}
		if newer := h.latest[a.LogicalID]; newer != "" && newer != id {
			if n := read(newer); n != nil && n.CommitHash() != "" {
				a = n
			}
		}
		same := func(s blackboard.Artefact) bool { return s.LogicalID == a.LogicalID }
		if i := slices.IndexFunc(starts, same); i >= 0 {
			starts[i] = *a
		} else if a.CommitHash() != "" {
			starts = slices.Insert(starts, 0, *a)
		}
	}
	return starts, unknown
}

// aboutOthers says whether the artefact's commit is no work of its own.
func aboutOthers(a *blackboard.Artefact) bool {
	return a.IsConflict() || a.StructuralType == blackboard.Review && a.ProducedByRole == blackboard.RoleRepository && a.ProducedByAgent == ""
}
