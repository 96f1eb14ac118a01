package orchestrator

import (
	"sync"
	"time"
)

// living knows which incarnations may still work on what they were granted. One
// that has ended counts until what it left behind has been dealt with, with its
// exit code and its last words; but not for ever, in case that fails.
type living struct {
	mu    sync.Mutex
	ended map[string]time.Time // by incarnation; zero: it lives
}

func newLiving() *living { return &living{ended: map[string]time.Time{}} }

func (l *living) begin(incarnation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[incarnation] = time.Time{}
}

func (l *living) end(incarnation string, at time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended[incarnation] = at
}

// forget is called when nothing is left of it.
func (l *living) forget(incarnation string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.ended, incarnation)
}

// runs says whether the incarnation has begun and not ended.
func (l *living) runs(incarnation string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := l.ended[incarnation]
	return known && at.IsZero()
}

// gone says whether nobody deals with what the incarnation left: it is unknown,
// or ended before a time.
func (l *living) gone(incarnation string, before time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, known := l.ended[incarnation]
	return !known || (!at.IsZero() && at.Before(before))
}
