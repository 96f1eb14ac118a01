package orchestrator

import (
	"context"
	"slices"
	"sync/atomic"
)

// approval is the list of sett.yml of types that wait for a person's approval. The
// blackboard needs it, since agents write there without the orchestrator.
type approval struct {
	known atomic.Bool // the blackboard has it
	types []string
}

// doubt has the list written again: a blackboard that was away may come back without
// the last writes that it acknowledged.
func (a *approval) doubt() { a.known.Store(false) }

// enact writes the list if it has changed.
func (t *term) enact(ctx context.Context) error {
	a, types := &t.approval, t.clan.get().Approve
	if a.known.Swap(true) && slices.Equal(types, a.types) {
		return nil
	}
	if err := t.board.SetApproval(ctx, t.lead.Epoch, types); err != nil {
		a.doubt()
		return err
	}
	a.types = types
	return nil
}
