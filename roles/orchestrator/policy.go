package orchestrator

import (
	"context"
	"slices"
	"sync"
)

// policy is what sett.yml says that the blackboard has to know by itself, since
// others write there: which artefacts wait for approval.
type policy struct {
	mu      sync.Mutex
	set     bool
	approve []string
}

// enact puts in force what changed of the policy.
func (l *leadership) enact(ctx context.Context) error {
	p, types := &l.policy, l.clan.get().Approve
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.set && slices.Equal(types, p.approve) {
		return nil
	}
	if err := l.board.SetApproval(ctx, l.lead.Epoch, types); err != nil {
		return err
	}
	p.set, p.approve = true, types
	return nil
}
