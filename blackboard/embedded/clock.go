package embedded

import (
	"sync"
	"time"
)

// clock is the time commands see: the machine's, to the microsecond, that
// never goes back behind a time it has given or found in the log.
type clock struct {
	mu   sync.Mutex
	read func() time.Time
	last time.Time
	next time.Time // at the earliest, of a command that is logged
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.read().UTC().Truncate(time.Microsecond); t.After(c.last) {
		c.last = t
	}
	return c.last
}

// step is the time of a command that is logged: later than those before it, since events
// of the ledger are numbered by it.
func (c *clock) step() time.Time {
	at := c.now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if at.Before(c.next) {
		at = c.next
	}
	c.next = at.Add(time.Microsecond)
	if at.After(c.last) {
		c.last = at
	}
	return at
}

// atLeast moves the clock on to a time from the log.
func (c *clock) atLeast(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.last) {
		c.last = t
	}
	if !t.Before(c.next) {
		c.next = t.Add(time.Microsecond)
	}
}
