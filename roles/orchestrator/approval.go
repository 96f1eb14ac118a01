package orchestrator

import (
	"context"
	"slices"
	"sync/atomic"
)

// approval is the list of sett.yml of types that wait for a person's approval, and the branch
// that goals land on. The blackboard needs both, since agents write there without the orchestrator.
type approval struct {
	known  atomic.Bool // the blackboard has it
	types  []string
	branch string // on which achieved goals land
}

// doubt has the list written again: a blackboard that was away may come back without
// the last writes that it acknowledged.
func (a *approval) doubt() { a.known.Store(false) }

// enact writes the list if it has changed.
func (t *term) enact(ctx context.Context) error {
	a, types, branch := &t.approval, t.clan.get().Approve, t.clan.get().Land.Branch()
	if a.known.Swap(true) && slices.Equal(types, a.types) && branch == a.branch {
		return nil
	}
	err := t.board.SetApproval(ctx, t.lead.Epoch, types)
	if err == nil {
		err = t.board.SetLanding(ctx, t.lead.Epoch, branch)
	}
	if err != nil {
		a.doubt()
		return err
	}
	a.types, a.branch = types, branch
	return nil
}
