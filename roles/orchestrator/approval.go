package orchestrator

import (
	"context"
	"slices"
	"sync/atomic"
)

// approval is what sett.yml says that the blackboard has to know by itself, since
// others write there: which artefacts wait for a person's approval.
type approval struct {
	known atomic.Bool // that the blackboard has it
	types []string
}

// doubt has it said again: a blackboard that was away may come back without what it
// had acknowledged last.
func (a *approval) doubt() { a.known.Store(false) }

// enact puts in force what changed of it.
func (l *leadership) enact(ctx context.Context) error {
	a, types := &l.approval, l.clan.get().Approve
	if a.known.Swap(true) && slices.Equal(types, a.types) {
		return nil
	}
	if err := l.board.SetApproval(ctx, l.lead.Epoch, types); err != nil {
		a.doubt()
		return err
	}
	a.types = types
	return nil
}
