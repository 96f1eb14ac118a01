package orchestrator

import (
	"context"
	"sync"
	"time"
)

// clock tells the blackboard's time. What happened there bears that time, and how
// long ago that was is not to be told by our own clock, which may be wrong, or be put
// right at any moment. Ours only measures how much has passed since the blackboard
// was asked.
type clock struct {
	own func() time.Time

	mu        sync.Mutex
	asked, at time.Time // the blackboard's time when it was asked, and ours; zero: it was not yet
}

// now is never ahead of the blackboard's time, so that nobody's time is over early.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.own()
	if c.at.IsZero() {
		return own
	}
	return c.asked.Add(own.Sub(c.at))
}

// set takes what the blackboard has just told. Its answer was on its way for a while:
// by so much it is behind.
func (c *clock) set(server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.at = server, c.own()
}

// now is the time by the blackboard's clock.
func (l *leadership) now() time.Time { return l.clock.now() }

// readClock asks the blackboard for its time.
func (l *leadership) readClock(ctx context.Context) error {
	server, err := l.board.ServerTime(ctx)
	if err == nil {
		l.clock.set(server)
	}
	return err
}
