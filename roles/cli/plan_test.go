package cli

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
)

// slowLedger is a ledger that answers when it is told to.
type slowLedger struct {
	all   []blackboard.Event
	ready chan struct{}
	given int
}

func (l *slowLedger) Last(context.Context) (string, error) { return "", nil }

func (l *slowLedger) Removed(context.Context) (*blackboard.RemovedError, error) { return nil, nil }

func (*slowLedger) Notified(context.Context) (string, error) { return "", nil }

func (l *slowLedger) Notifier(context.Context) (blackboard.Notifier, error) {
	return blackboard.Notifier{}, nil
}

func (l *slowLedger) Follow(context.Context, string, func(blackboard.Event) error, func(error)) error {
	return nil
}

func (l *slowLedger) History(_ context.Context, after string, most int64) ([]blackboard.Event, error) {
	<-l.ready
	var page []blackboard.Event
	for _, e := range l.all {
		if blackboard.IsAfter(e.ID, after) && len(page) < int(most) {
			page = append(page, e)
		}
	}
	l.given += len(page)
	return page, nil
}

// Commands that count the ledger at one time read it once; a later one begins anew.
func TestWalksTogether(t *testing.T) {
	l := &slowLedger{ready: make(chan struct{})}
	for i := range historyPage + 100 {
		l.all = append(l.all, blackboard.Event{ID: fmt.Sprintf("%d-0", i+1), Time: time.Unix(int64(i+1), 0), Kind: blackboard.EventGoal})
	}
	w, b := &walks{}, &instance.Board{Ledger: l}
	count := func() {
		if got, err := w.on(t.Context(), b); err != nil || got.Goals != len(l.all) {
			t.Errorf("goals %+v, %v", got, err)
		}
	}
	var both sync.WaitGroup
	both.Go(count)
	both.Go(count)
	for w.users.Load() < 2 {
		time.Sleep(time.Millisecond)
	}
	close(l.ready)
	both.Wait()
	if l.given != len(l.all) {
		t.Errorf("the ledger gave %d entries of %d", l.given, len(l.all))
	}
	l.all = l.all[1:] // other entries, as after an import
	count()
}
