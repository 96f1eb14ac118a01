package gateway

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"
)

// statusOverloaded is the status of messages for a provider that has too much to do.
const statusOverloaded = 529

// growth is the factor from one pause to the next one. With four, the first repetition comes soon and the third one
// after a minute of overload.
const growth = 4

// pause is the wait before the next attempt. A provider may ask for one. It was too hopeful where it is still busy after
// it: from the second repetition on, our own pause, a step behind, is the least.
func (c *call) pause(ctx context.Context, g *got, asks time.Duration) time.Duration {
	first, step := c.s.pace.pause, c.tries-1
	if g != nil && busy(g.status) {
		first = c.s.pace.busy
		if asks > 0 {
			step--
		}
	}
	own := c.s.pace.pause
	if step >= 0 {
		own = c.s.pace.step(first, step)
	}
	if end, ok := ctx.Deadline(); ok { // of a bid, say: half of its time is left for the answer
		own = min(own, max(time.Until(end)/2, c.s.pace.pause))
	}
	return max(own, asks)
}

// busy says whether a provider answers that it has too much to do now, which takes longer to pass than other faults.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == statusOverloaded
}

// step is one of the pauses that grow from the first one, number 0, with a tenth of jitter up or down.
func (p pace) step(first time.Duration, number int) time.Duration {
	d := first
	for ; number > 0 && d < p.longest; number-- {
		d *= growth
	}
	d = min(d, p.longest)
	return d - d/10 + rand.N(d/5+1)
}
