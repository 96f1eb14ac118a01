package assemble

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// naive states the rules of the package comment without a queue, a reader or a
// thought of cost: the distance of every artefact by repeated relaxation, then
// the best version of each thread within reach.
func naive(b *board, target blackboard.Artefact, extra []string) string {
	const far = 1 << 20
	distance := map[string]int{}
	for id := range b.all {
		distance[id] = far
	}
	distance[target.ID] = 0
	latest := map[string]string{}
	for id, a := range b.all {
		if best, ok := b.all[latest[a.LogicalID]]; !ok || a.Version > best.Version {
			latest[a.LogicalID] = id
		}
	}
	for changed := true; changed; {
		changed = false
		reach := func(id string, d int) {
			if old, exists := distance[id]; exists && d < old {
				distance[id], changed = d, true
			}
		}
		for id, a := range b.all {
			for _, source := range a.SourceArtefacts {
				reach(source, distance[id]+1)
			}
			if a.LogicalID != target.LogicalID {
				reach(latest[a.LogicalID], distance[id])
			}
		}
	}
	best := map[string]blackboard.Artefact{}
	for id, a := range b.all {
		if distance[id] <= MaxDepth && a.LogicalID != target.LogicalID && a.Version > best[a.LogicalID].Version {
			best[a.LogicalID] = a
		}
	}
	var listed []blackboard.Artefact
	for _, a := range best {
		if a.StructuralType == blackboard.Standard || a.StructuralType == blackboard.Answer {
			listed = append(listed, a)
		}
	}
	sort.Slice(listed, func(i, j int) bool {
		if !listed[i].CreatedAt.Equal(listed[j].CreatedAt) {
			return listed[i].CreatedAt.Before(listed[j].CreatedAt)
		}
		return listed[i].ID < listed[j].ID
	})
	var out, tail []string
	for _, id := range extra {
		if _, exists := b.all[id]; exists && !strings.Contains(strings.Join(tail, " ")+" ", id+" ") {
			tail = append(tail, id)
		}
	}
	for _, a := range listed {
		if !strings.Contains(strings.Join(tail, " ")+" ", a.ID+" ") {
			out = append(out, a.ID)
		}
	}
	return strings.Join(append(out, tail...), " ")
}

// TestChainIsNaive compares with the naive implementation on random graphs with
// cycles, diamonds, versions, missing artefacts, equal times and deep lines.
func TestChainIsNaive(t *testing.T) {
	for seed := range uint64(4000) {
		rnd := rand.New(rand.NewPCG(seed, 7))
		b := randomBoard(rnd)
		var names []string
		for id := range b.all {
			names = append(names, id)
		}
		sort.Strings(names)
		target := b.all[names[rnd.IntN(len(names))]]
		var extra []string
		for range rnd.IntN(4) {
			extra = append(extra, names[rnd.IntN(len(names))])
		}
		chain, missing, err := Chain(t.Context(), b, target, extra)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := ids(chain), naive(b, target, extra); got != want {
			t.Fatalf("seed %d, target %s, extra %v:\ngot  %q\nwant %q\nboard %v", seed, target.ID, extra, got, want, b.all)
		}
		if limit := 2 * (2*MaxDepth + 1); len(missing) == 0 && len(b.reads) > limit {
			t.Fatalf("seed %d: %d reads, want at most %d", seed, len(b.reads), limit)
		}
	}
}

// randomBoard makes a graph whose ids all have the same length, so that none is
// part of another.
func randomBoard(rnd *rand.Rand) *board {
	b := &board{all: map[string]blackboard.Artefact{}, read: map[string]int{}}
	threads, versions := 1+rnd.IntN(25), 1+rnd.IntN(3)
	name := func(thread, version int) string { return fmt.Sprintf("t%02d.%d", thread, version) }
	kinds := append([]blackboard.StructuralType{blackboard.Standard, blackboard.Standard}, blackboard.StructuralTypes...)
	line := rnd.IntN(3) == 0 // mostly a line, so that the depth matters
	for thread := range threads {
		for version := 1; version <= 1+rnd.IntN(versions); version++ {
			a := blackboard.Artefact{
				ID: name(thread, version), LogicalID: name(thread, 1), Version: version,
				StructuralType: kinds[rnd.IntN(len(kinds))], CreatedAt: time.Unix(rnd.Int64N(20), 0),
			}
			if line && thread > 0 {
				a.SourceArtefacts = []string{name(thread-1, 1)}
			}
			for range rnd.IntN(3) {
				if !line || rnd.IntN(12) == 0 {
					a.SourceArtefacts = append(a.SourceArtefacts, name(rnd.IntN(threads+1), 1+rnd.IntN(versions)))
				}
			}
			b.all[a.ID] = a
		}
	}
	return b
}
