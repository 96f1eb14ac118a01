package orchestrator

import (
	"context"
	"fmt"
	"log/slog"
	"runtime"
	"testing"

	"sett/blackboard"
	"sett/roles/role/otlp"
	"sett/roles/view"
)

// unreadable are goals whose records cannot be read for a reason.
type unreadable struct {
	view.Claims
	why error
}

func (u unreadable) Workflow(_ context.Context, id string) (w blackboard.Workflow, err error) {
	return w, fmt.Errorf("read goal %s: %w", id, u.why)
}

// A goal that is lost or corrupt must not stop the traces of those after it; a blackboard that is away
// does.
func TestTraceOfAnUnreadableGoal(t *testing.T) {
	for why, passed := range map[error]bool{blackboard.ErrNotFound: true, blackboard.ErrCorrupt: true, blackboard.ErrUnavailable: false} {
		tr := &tracer{log: slog.New(slog.DiscardHandler), board: view.Board{Claims: unreadable{why: why}}}
		if err := tr.send(t.Context(), otlp.Receiver{}, "goal"); (err == nil) != passed {
			t.Errorf("%v: %v", why, err)
		}
	}
}

// A change of the configuration between two rounds ends the next one: nobody of the round before takes it.
func TestTracesSeeEachChange(t *testing.T) {
	tr := &tracer{changed: make(chan struct{}, 1)}
	for range 1000 {
		_, end := tr.untilChanged(t.Context())
		end()
		wake(tr.changed)
		runtime.Gosched()
		during, end := tr.untilChanged(t.Context())
		select {
		case <-during.Done():
		case <-t.Context().Done():
		}
		end()
	}
}
