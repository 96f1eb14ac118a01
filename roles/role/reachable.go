package role

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"sett/blackboard"
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

// Patiently makes a call again and again while the blackboard is away, until it is
// time to give up, the context ends, or whoever stops us is in a hurry.
func (r *Reachable) Patiently(ctx context.Context, log *slog.Logger, hurry <-chan struct{}, call func() error) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		err := call()
		if !errors.Is(err, blackboard.ErrUnavailable) {
			return err
		}
		if ctx.Err() == nil {
			log.Warn("blackboard away, waiting", "error", err)
		}
		if err := r.Lost(err); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-hurry:
			return err
		case <-time.After(wait):
		}
	}
}
