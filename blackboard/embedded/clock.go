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
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t := c.read().UTC().Truncate(time.Microsecond); t.After(c.last) {
		c.last = t
	}
	return c.last
}

// atLeast moves the clock on to a time from the log.
func (c *clock) atLeast(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.After(c.last) {
		c.last = t
	}
}
