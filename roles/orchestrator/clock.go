package orchestrator

import (
	"context"
	"sync"
	"time"
)

// clock tells the blackboard's time, which its records bear. Our own clock may be wrong,
// or may be set right at any moment, so it only measures the time since the blackboard
// was asked.
type clock struct {
	own func() time.Time

	mu        sync.Mutex
	asked, at time.Time // the blackboard's time when it was asked, and ours; zero: it was not yet
}

// now is never ahead of the blackboard's time, so that no timeout comes early.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	own := c.own()
	if c.at.IsZero() {
		return own
	}
	return c.asked.Add(own.Sub(c.at))
}

// set takes the blackboard's answer, which is late by the time that it travelled.
func (c *clock) set(server time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked, c.at = server, c.own()
}

// now is the time by the blackboard's clock.
func (t *term) now() time.Time { return t.clock.now() }

// readClock asks the blackboard for its time.
func (t *term) readClock(ctx context.Context) error {
	server, err := t.board.serverTime(ctx)
	if err == nil {
		t.clock.set(server)
	}
	return err
}
