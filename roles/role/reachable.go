package role

import (
	"fmt"
	"sync"
	"time"
)

// Reachable watches for how long the blackboard has been gone, and since when it
// has been back: silence only counts from then.
type Reachable struct {
	mu     sync.Mutex
	now    func() time.Time
	giveUp time.Duration
	since  time.Time // last change
	gone   bool
}

// NewReachable returns a watch that gives up after so long.
func NewReachable(now func() time.Time, giveUp time.Duration) *Reachable {
	return &Reachable{now: now, giveUp: giveUp, since: now()}
}

// Lost notes a failed call. It returns an error when it is time to give up.
func (r *Reachable) Lost(cause error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.gone {
		r.gone, r.since = true, r.now()
	}
	if r.now().Sub(r.since) < r.giveUp {
		return nil
	}
	return Fail(Environment, fmt.Errorf("blackboard unreachable for %s: %w", r.giveUp, cause),
		"start the blackboard again; sett up brings the instance back to where it was")
}

// Back notes a successful call.
func (r *Reachable) Back() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		r.gone, r.since = false, r.now()
	}
}

// SteadySince returns since when the blackboard has been answering; the zero time
// when it is not.
func (r *Reachable) SteadySince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return time.Time{}
	}
	return r.since
}

// Away returns for how long the blackboard has been gone; zero when it is there.
func (r *Reachable) Away() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.gone {
		return 0
	}
	return max(r.now().Sub(r.since), 0)
}
