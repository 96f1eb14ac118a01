package supervisor

import (
	"maps"
	"slices"
	"sync"
	"time"

	"sett/runtime"
)

// Incarnations knows which incarnations may still work on their grants. One that has
// ended counts until its end is recorded with its exit code and its last lines, but
// not for ever: recording may fail.
type Incarnations struct {
	mu    sync.Mutex
	ended map[string]ending       // by incarnation
	owed  map[string]runtime.Exit // exits that could not be recorded, also of those of which nothing else is left
	why   map[string]string       // reasons of those that we ended ourselves
}

// ending is how an incarnation ended, and when; at zero it runs.
type ending struct {
	at   time.Time
	exit runtime.Exit
}

// NewIncarnations returns a register without any.
func NewIncarnations() *Incarnations {
	return &Incarnations{ended: map[string]ending{}, owed: map[string]runtime.Exit{}, why: map[string]string{}}
}

func (n *Incarnations) begin(incarnation string) { n.end(incarnation, ending{}) }

func (n *Incarnations) end(incarnation string, e ending) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ended[incarnation] = e
}

// forget is called when nothing is left of it.
func (n *Incarnations) forget(incarnation string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.ended, incarnation)
}

// owe keeps an exit that could not be recorded until a look for orphans does.
func (n *Incarnations) owe(incarnation string, e runtime.Exit) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.owed[incarnation] = e
}

// debts are the incarnations with an exit that is to be recorded.
func (n *Incarnations) debts() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Keys(n.owed))
}

// paid drops exits that are recorded.
func (n *Incarnations) paid(incarnations []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, i := range incarnations {
		delete(n.owed, i)
	}
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
	e, known := n.ended[incarnation]
	return known && e.at.IsZero()
}

// unwatched is the exit of an incarnation that ended while nobody led.
var unwatched = runtime.Exit{Code: -1, Text: "ended while no orchestrator watched"}

// gone says whether nobody records the end of the incarnation, as far as that is known: it is
// unknown, or it ended before a time. It returns its exit.
func (n *Incarnations) gone(incarnation string, before time.Time) (runtime.Exit, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e, owed := n.owed[incarnation]; owed {
		return e, true
	}
	e, known := n.ended[incarnation]
	if !known {
		return unwatched, true
	}
	return e.exit, !e.at.IsZero() && e.at.Before(before)
}
