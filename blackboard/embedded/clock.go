package embedded

import (
	"sync"
	"time"
)

// clock is the time that commands see: the machine's, to the microsecond. It follows the
// machine's clock also where that is set back, as Redis does: leases and waits go by it,
// and only the numbers of a stream's entries never go back. As long as it was not set back,
// no command has an earlier time than the one before it, and each that is logged a later one.
type clock struct {
	mu   sync.Mutex
	read func() time.Time
	seen time.Time // by the machine's clock, at the last look
	last time.Time // that was given
	next time.Time // at the earliest, of a command that is logged
}

// now is the time of a command that is not logged.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	return c.last
}

// step is the time of a command that is logged: later than those before it, since events
// that a script appends together are numbered by it.
func (c *clock) step() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.look()
	if c.last.Before(c.next) {
		c.last = c.next
	}
	c.next = c.last.Add(time.Microsecond)
	return c.last
}

// look moves on to the machine's time, or back to it where its clock was set back.
func (c *clock) look() {
	at := c.read().UTC().Truncate(time.Microsecond)
	switch {
	case at.Before(c.seen):
		c.last, c.next = at, at
	case at.After(c.last):
		c.last = at
	}
	c.seen = at
}

// resume goes on behind a time from the log.
func (c *clock) resume(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen, c.last, c.next = t, t, t.Add(time.Microsecond)
}
