package orchestrator

import (
	"context"
	"log/slog"

	"sett/blackboard"
)

// removed looks whether somebody removed entries from the ledger, and logs each time that there are more of them.
type removed struct {
	look func(context.Context) (*blackboard.RemovedError, error)
	log  *slog.Logger
	said *blackboard.RemovedError
}

// tell makes the look. One that fails says nothing: sett doctor does.
func (r *removed) tell(ctx context.Context) {
	gone, err := r.look(ctx)
	if err != nil || gone == nil || r.said != nil && *gone == *r.said {
		return
	}
	r.said = gone
	r.log.Error("the ledger lacks entries", "error", gone, "hint", "an older sett ledger export has them")
}
