package process

import (
	"context"
	"time"
)

// pollPause is the time between two looks at a process where the system does not report
// its end.
const pollPause = 500 * time.Millisecond

// pollEnd is awaitEnd without help from the system.
func pollEnd(ctx context.Context, id ident) error {
	tick := time.NewTicker(pollPause)
	defer tick.Stop()
	for alive(id) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// target selects the processes of a sweep: all processes of a session, and all with a
// marker that has this prefix.
type target struct {
	ident         // the session's first process, alive or not; zero: no session
	marker string // never empty
}
