package process

import (
	"context"
	"time"
)

// pollPause is how long the end of a process may go unnoticed where the system
// does not tell of it.
const pollPause = 500 * time.Millisecond

// pollEnd is awaitEnd where there is nothing better than to look again.
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

// target is what a sweep is to end: the processes of a session, and those that
// carry a marker beginning with these words.
type target struct {
	ident         // the session's first process, alive or not; zero: no session
	marker string // never empty
}
