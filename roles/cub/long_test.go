package cub

import (
	"context"
	"fmt"
	"log/slog"
	"testing"

	"sett/blackboard"
	"sett/roles/cub/assemble"
	"sett/roles/role"
	line "sett/roles/role/repository"
)

// chained are the records of one long chain of artefacts without commits. It counts the calls.
type chained struct {
	records
	calls int
}

func (c *chained) Artefacts(_ context.Context, ids []string) (all []blackboard.Artefact, err error) {
	c.calls++
	for _, id := range ids {
		all = append(all, link(id))
	}
	return all, nil
}

func (c *chained) LatestVersions(context.Context, []string) (map[string]string, error) {
	c.calls++
	return nil, nil
}

// link is the artefact of the chain with this number.
func link(id string) blackboard.Artefact {
	var n int
	_, _ = fmt.Sscan(id, &n)
	a := blackboard.Artefact{ID: id, LogicalID: id, StructuralType: blackboard.Standard, WorkflowID: "0"}
	if n > 0 {
		a.SourceArtefacts = []string{fmt.Sprint(n - 1)}
	}
	return a
}

// noTrees gives no tree.
type noTrees struct{ trees }

func (noTrees) Prepare(context.Context, line.Prepare) (p line.Prepared, err error) { return p, nil }

// A grant costs no more reads at the end of a long goal than the context needs: a tool without a tree
// needs no commit to start from, and a cub reads the history for a tree once.
func TestLongGoal(t *testing.T) {
	const steps = 1000
	for name, tree := range map[string]trees{"none": nil, "tree": noTrees{}} {
		r := &chained{}
		x := &executor{state: &state{log: slog.New(slog.DiscardHandler), reachable: &role.Reachable{}, board: board{records: r}}, crew: &crew{}, trees: tree}
		task := func(n int) int {
			before := r.calls
			w := x.newWork("claim", blackboard.Started{Artefact: link(fmt.Sprint(n)), Grant: blackboard.Grant{Phase: blackboard.PhaseReview}}, nil)
			got, err := x.assemble(t.Context(), w)
			if err != nil || len(got.Chain) != assemble.MaxDepth+1 {
				t.Fatalf("%d in the context, %v", len(got.Chain), err)
			}
			return r.calls - before
		}
		if tree != nil {
			task(steps)
		}
		if calls, most := task(steps+1), 2*assemble.MaxDepth+3; calls > most {
			t.Errorf("%s: %d reads for the context, want at most %d", name, calls, most)
		}
	}
}
