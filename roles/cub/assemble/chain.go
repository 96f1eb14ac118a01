// Package assemble collects the context of a tool's task: the history of the target
// artefact, by DESIGN.md, section 5, and the specification's context assembly
// algorithm (agent-pup.md, section 5). It is a pure traversal over its reader; it
// knows neither Redis nor tools.
//
// These rules fill the gaps of the documents:
//
//   - A thread is listed once, by the highest version that was read. The sources
//     of every version met are followed, not only the latest's: a rework names
//     the version before it and the Reviews as its sources, so the latest alone
//     would cut the goal off. Where versions differ in their sources, the context
//     is the union.
//   - A newer version is on the level of the version it replaces. Level 1 are the
//     target's own sources; artefacts first reached on level MaxDepth are the last
//     ones listed, in their latest version.
//   - In the target's own thread the versions met are followed and none is
//     listed. Versions newer than the target are not looked up: the task is about
//     the target as it is.
//   - Diamonds and cycles end where an id was met before; the target counts as
//     met. A goal is a source like any other, without sources of its own. The goal
//     of the target's workflow is listed in any case, however deep it lies.
//   - A missing or corrupt artefact is left out and named, and so is everything
//     that only it leads to. The target's history cannot be mended by waiting.
package assemble

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
)

// MaxDepth is the most levels of sources to follow.
const MaxDepth = 10

// Reader has the reads of the blackboard that the traversal needs.
type Reader interface {
	// Artefacts reads artefacts in the order of the ids; blackboard.ErrNotFound
	// or blackboard.ErrCorrupt when that fails for one of them.
	Artefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, error)
	// LatestVersions returns the id of the latest version by logical id, without
	// unknown threads.
	LatestVersions(ctx context.Context, logicalIDs []string) (map[string]string, error)
}

// Chain returns the context of a target: the Standard and Answer artefacts of
// its history, oldest first, then the artefacts of extra in their order, of any
// structural type (the claim adds them: the feedback Reviews of a rework, then
// Questions and Answers of the grant). An artefact of extra is listed only there,
// once, and its sources are not followed. The chain is empty, never nil, for a root
// without extra, which costs no read.
//
// Missing are the ids that could not be read, in the order they were met; they
// are no error. Errors are the reader's.
//
// Each level costs at most one call to Artefacts and one to LatestVersions.
// Where threads have moved on, their newer versions are read together with the
// next level, which can add calls at the end. Only where an artefact is missing
// are those of its level read one by one.
func Chain(ctx context.Context, r Reader, target blackboard.Artefact, extra []string) (chain []blackboard.Artefact, missing []string, err error) {
	h := newHistory(target)
	reached, err := h.complete(ctx, r, extra)
	if err != nil {
		return nil, nil, err
	}
	return h.list(reached, extra), h.missing, nil
}

// Goal returns the goal that a target belongs to, from its chain; the zero artefact where
// it could not be read.
func Goal(target blackboard.Artefact, chain []blackboard.Artefact) blackboard.Artefact {
	if target.ID == target.WorkflowID {
		return target
	}
	for _, a := range chain {
		if a.ID == target.WorkflowID {
			return a
		}
	}
	return blackboard.Artefact{}
}

// history has the artefacts read so far.
type history struct {
	target  blackboard.Artefact
	known   map[string]*blackboard.Artefact // by id; nil when it is not readable
	latest  map[string]string               // id by logical id; empty when unknown
	missing []string
	memory  *Memory // nil: nothing is kept
}

func newHistory(target blackboard.Artefact) *history {
	return &history{
		target: target,
		known:  map[string]*blackboard.Artefact{target.ID: &target},
		latest: map[string]string{target.LogicalID: ""},
	}
}

// goal is the id of the goal, unless the target is the goal itself.
func (h *history) goal() []string {
	if id := h.target.WorkflowID; id != "" && id != h.target.ID {
		return []string{id}
	}
	return nil
}

// complete reads what is wanted and all that the chain needs, and returns the artefacts
// that the target's sources lead to.
func (h *history) complete(ctx context.Context, r Reader, want []string) (reached []*blackboard.Artefact, err error) {
	for {
		reached, unknown := h.walk()
		want = h.unread(want, unknown)
		if len(want) == 0 { // the goal comes last: most often it was reached
			want = h.unread(h.goal())
		}
		if len(want) == 0 {
			return reached, nil
		}
		if err := h.read(ctx, r, want); err != nil {
			return nil, fmt.Errorf("assemble context of %s: %w", h.target.ID, err)
		}
		want = nil
	}
}

// walk goes through the known artefacts, level by level, and returns the artefacts
// that it reaches and the ids that it needs to get further. Walking again after each
// read, instead of keeping a queue, makes the levels exact although newer
// versions become known late.
func (h *history) walk() (reached []*blackboard.Artefact, unknown []string) {
	met := map[string]bool{h.target.ID: true}
	level := h.target.SourceArtefacts
	for depth := 0; depth < MaxDepth && len(level) > 0; depth++ {
		var next []string
		var meet func(id string)
		meet = func(id string) {
			if met[id] {
				return
			}
			met[id] = true
			a, read := h.known[id]
			if !read {
				unknown = append(unknown, id)
			}
			if a == nil {
				return
			}
			reached = append(reached, a)
			next = append(next, a.SourceArtefacts...)
			if newer := h.latest[a.LogicalID]; newer != "" {
				meet(newer)
			}
		}
		for _, id := range level {
			meet(id)
		}
		level = next
	}
	return reached, unknown
}

// unread returns the ids that were not read yet, each once.
func (h *history) unread(lists ...[]string) []string {
	var out []string
	seen := map[string]bool{}
	for _, id := range slices.Concat(lists...) {
		if _, read := h.known[id]; !read && !seen[id] {
			seen[id] = true
			out = append(out, id)
		}
	}
	return out
}

// read fetches artefacts, and the latest versions of threads that are new.
func (h *history) read(ctx context.Context, r Reader, ids []string) error {
	all, err := fetch(ctx, r, ids)
	if err != nil {
		return err
	}
	var threads []string
	for i, a := range all {
		h.known[ids[i]] = a
		if a == nil {
			h.missing = append(h.missing, ids[i])
			continue
		}
		h.memory.keep(a)
		if _, asked := h.latest[a.LogicalID]; !asked {
			h.latest[a.LogicalID] = ""
			threads = append(threads, a.LogicalID)
		}
	}
	return h.ask(ctx, r, threads)
}

// ask asks for the latest versions of threads.
func (h *history) ask(ctx context.Context, r Reader, threads []string) error {
	if len(threads) == 0 {
		return nil
	}
	latest, err := r.LatestVersions(ctx, threads)
	if err != nil {
		return err
	}
	for _, thread := range threads {
		h.latest[thread] = latest[thread]
	}
	return nil
}

// fetch reads artefacts in one call if that works, else one by one; an unreadable
// artefact is nil.
func fetch(ctx context.Context, r Reader, ids []string) ([]*blackboard.Artefact, error) {
	out := make([]*blackboard.Artefact, len(ids))
	all, err := r.Artefacts(ctx, ids)
	if err == nil && len(all) != len(ids) {
		return nil, fmt.Errorf("read %d artefacts: got %d", len(ids), len(all))
	}
	if err == nil {
		for i := range all {
			out[i] = &all[i]
		}
		return out, nil
	}
	lost := func(err error) bool {
		return errors.Is(err, blackboard.ErrNotFound) || errors.Is(err, blackboard.ErrCorrupt)
	}
	if !lost(err) {
		return nil, err
	}
	if len(ids) == 1 {
		return out, nil
	}
	for i := range ids {
		one, err := fetch(ctx, r, ids[i:i+1])
		if err != nil {
			return nil, err
		}
		out[i] = one[0]
	}
	return out, nil
}

// list makes the chain of the reached artefacts and of those that the claim adds.
func (h *history) list(reached []*blackboard.Artefact, extra []string) []blackboard.Artefact {
	added := map[string]bool{}
	for _, id := range extra {
		added[id] = true
	}
	threads := map[string]*blackboard.Artefact{}
	for _, id := range h.goal() {
		if goal := h.known[id]; goal != nil {
			reached = append(reached, goal)
		}
	}
	for _, a := range reached {
		if best := threads[a.LogicalID]; a.LogicalID != h.target.LogicalID && (best == nil || a.Version > best.Version) {
			threads[a.LogicalID] = a
		}
	}
	chain := make([]blackboard.Artefact, 0, len(threads)+len(extra))
	for _, a := range threads {
		if listed := a.StructuralType == blackboard.Standard || a.StructuralType == blackboard.Answer; listed && !added[a.ID] {
			chain = append(chain, *a)
		}
	}
	slices.SortFunc(chain, func(a, b blackboard.Artefact) int {
		if c := a.CreatedAt.Compare(b.CreatedAt); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	for _, id := range extra {
		if a := h.known[id]; a != nil && added[id] {
			added[id] = false
			chain = append(chain, *a)
		}
	}
	return chain
}
