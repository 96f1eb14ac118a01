package orchestrator

import (
	"context"
	"sync/atomic"

	"sett/contract/config"
)

// enacted is the configuration that is in force on the blackboard: the types that wait for
// a person's approval, the branch that goals land on, and the courses that scripts follow. Agents write there without the
// orchestrator.
type enacted struct {
	known  atomic.Bool // the blackboard has it
	config *config.Config
}

// doubt has it written again: a blackboard that was away may come back without the last
// writes that it acknowledged.
func (e *enacted) doubt() { e.known.Store(false) }

// enact puts the configuration in force if it has changed.
func (t *term) enact(ctx context.Context) error {
	e, cfg := &t.enacted, t.clan.get()
	if e.known.Swap(true) && cfg == e.config {
		return nil
	}
	err := t.board.Enact(ctx, t.lead.Epoch, cfg.Approve, cfg.DecisionDigest())
	if err == nil {
		err = t.board.SetLanding(ctx, t.lead.Epoch, cfg.Land.Branch())
	}
	if err != nil {
		e.doubt()
		return err
	}
	e.config = cfg
	t.courses.forget()
	return nil
}
