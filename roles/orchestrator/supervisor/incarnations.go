package supervisor

import (
	"sync"
	"time"
)

// Incarnations knows which incarnations may still work on their grants. One that has
// ended counts until its end is recorded with its exit code and its last lines, but
// not for ever: recording may fail.
type Incarnations struct {
	mu    sync.Mutex
	ended map[string]time.Time // by incarnation; zero: it runs
	why   map[string]string    // reasons of those that we ended ourselves
}

// NewIncarnations returns a register without any.
func NewIncarnations() *Incarnations {
	return &Incarnations{ended: map[string]time.Time{}, why: map[string]string{}}
}

func (n *Incarnations) begin(incarnation string) { n.end(incarnation, time.Time{}) }

func (n *Incarnations) end(incarnation string, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended[incarnation] = at
}

// forget is called when nothing is left of it.
func (n *Incarnations) forget(incarnation string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ended, incarnation)
}

// condemn notes the reason for which an incarnation is about to be ended.
func (n *Incarnations) condemn(incarnation, why string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.why[incarnation] = why
}

// reason returns the reason that was noted, once; empty: there is none.
func (n *Incarnations) reason(incarnation string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	why := n.why[incarnation]
	delete(n.why, incarnation)
	return why
}

// Runs says whether the incarnation has begun and not ended.
func (n *Incarnations) Runs(incarnation string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, known := n.ended[incarnation]
	return known && at.IsZero()
}

// gone says whether nobody records the end of the incarnation: it is unknown, or it
// ended before a time.
func (n *Incarnations) gone(incarnation string, before time.Time) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	at, known := n.ended[incarnation]
	return !known || (!at.IsZero() && at.Before(before))
}
