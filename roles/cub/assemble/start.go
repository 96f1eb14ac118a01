package assemble

import (
	"context"
	"fmt"
	"slices"

	"sett/blackboard"
)

// Task is everything that a grant's tool begins with.
type Task struct {
	Chain   []blackboard.Artefact // as of Chain
	Missing []string              // as of Chain
	// Starts are the artefacts from whose commits the tool's tree starts, in their order;
	// none: it starts from the goal's base. Those from a memory have no texts.
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
// It costs more reads than Chain only where no artefact of ten levels has a commit: then a call for each further level,
// once for all tasks with the same memory, and one call for the latest versions.
func ForTask(ctx context.Context, r Reader, m *Memory, target blackboard.Artefact, extra, joined, settled []string) (Task, error) {
	h := newHistory(target)
	h.memory = m
	want := slices.Concat(extra, joined, settled)
	for {
		reached, err := h.complete(ctx, r, want)
		if err != nil {
			return Task{}, err
		}
		starts, unknown, threads := h.starts(joined, settled)
		if len(threads) > 0 { // they may make the unknown ones needless
			if want, err = nil, h.ask(ctx, r, threads); err != nil {
				return Task{}, fmt.Errorf("assemble context of %s: %w", target.ID, err)
			}
			continue
		}
		if want = h.unread(unknown); len(want) == 0 {
			return Task{Chain: h.list(reached, extra), Missing: h.missing, Starts: starts}, nil
		}
	}
}

// lookup returns an artefact that was read for this task, or is kept; nil also where it is not readable.
func (h *history) lookup(id string) (a *blackboard.Artefact, known bool) {
	if a, known = h.known[id]; known {
		return a, true
	}
	a = h.memory.get(id)
	return a, a != nil
}

// starts applies the rule to the artefacts read so far. Its answer counts when it needs
// no unknown one, and the latest version of no further thread.
func (h *history) starts(joined, settled []string) (starts []blackboard.Artefact, unknown, threads []string) {
	s := search{history: h, met: map[string]bool{}, asked: map[string]bool{}}
	s.stand(h.target.ID)
	for _, id := range joined {
		if a := s.read(id); a != nil && a.CommitHash() != "" {
			s.add(a)
		}
	}
	slices.SortStableFunc(s.starts, func(a, b blackboard.Artefact) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, id := range settled {
		s.settle(id)
	}
	return s.starts, s.unknown, s.threads
}

// search looks for the artefacts from whose commits a tree starts.
type search struct {
	*history
	met, asked       map[string]bool
	starts           []blackboard.Artefact
	unknown, threads []string // that it needs to know
}

func (s *search) add(a *blackboard.Artefact) {
	if !slices.ContainsFunc(s.starts, func(s blackboard.Artefact) bool { return s.ID == a.ID }) {
		s.starts = append(s.starts, *a)
	}
}

func (s *search) read(id string) *blackboard.Artefact {
	a, known := s.lookup(id)
	if !known {
		s.unknown = append(s.unknown, id)
	}
	return a
}

// newer is the latest version of an artefact's thread; empty: it is this one, or not known yet.
func (s *search) newer(a *blackboard.Artefact) string {
	newest, known := s.latest[a.LogicalID]
	if !known && !s.asked[a.LogicalID] {
		s.asked[a.LogicalID] = true
		s.threads = append(s.threads, a.LogicalID)
	}
	if newest == a.ID {
		return ""
	}
	return newest
}

// stand adds the artefacts that an artefact stands for.
func (s *search) stand(id string) {
	if s.met[id] {
		return
	}
	s.met[id] = true
	a := s.read(id)
	if a == nil {
		return
	}
	if newer := s.newer(a); newer != "" {
		s.stand(newer)
		if n, _ := s.lookup(newer); n != nil && n.CommitHash() != "" {
			return
		}
	}
	if a.CommitHash() != "" && (id == s.target.ID || !aboutOthers(a)) {
		s.add(a)
		return
	}
	for _, source := range a.SourceArtefacts {
		s.stand(source)
	}
}

// settle puts an artefact that settled a conflict in its place.
func (s *search) settle(id string) {
	a := s.read(id)
	if a == nil {
		return
	}
	if newer := s.newer(a); newer != "" {
		if n := s.read(newer); n != nil && n.CommitHash() != "" {
			a = n
		}
	}
	same := func(s blackboard.Artefact) bool { return s.LogicalID == a.LogicalID }
	if i := slices.IndexFunc(s.starts, same); i >= 0 {
		s.starts[i] = *a
	} else if a.CommitHash() != "" {
		s.starts = slices.Insert(s.starts, 0, *a)
	}
}

// aboutOthers says whether the artefact's commit is no work of its own.
func aboutOthers(a *blackboard.Artefact) bool {
	return a.IsConflict() || a.StructuralType == blackboard.Review && a.ProducedByRole == blackboard.RoleRepository && a.ProducedByAgent == ""
}
