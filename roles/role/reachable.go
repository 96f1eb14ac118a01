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

// Reachable measures how long the blackboard has been away, or how long it has been
// back: an agent's silence counts from its return.
type Reachable struct {
	mu     sync.Mutex
	now    func() time.Time
	giveUp time.Duration
	since  time.Time // last change
	gone   bool
	failed time.Time // the first try without success, since the last with it; zero: there is none
}

// NewReachable returns a Reachable that gives up after a time without the
// blackboard.
func NewReachable(now func() time.Time, giveUp time.Duration) *Reachable {
	return &Reachable{now: now, giveUp: giveUp, since: now()}
}

// GaveUp begins the error of a part that ends because the blackboard was away for too long. Its last lines have it.
const GaveUp = "blackboard unreachable for "

// Tried records a try of a call. A call fails only after several: the blackboard is away
// since the first of them.
func (r *Reachable) Tried(lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case !lost:
		r.failed = time.Time{}
	case r.failed.IsZero():
		r.failed = r.now()
	}
}

// Observing returns an observer of tries that tells another one, too.
func (r *Reachable) Observing(also func(took time.Duration, lost bool)) func(took time.Duration, lost bool) {
	return func(took time.Duration, lost bool) {
		r.Tried(lost)
		also(took, lost)
	}
}

// Bounded is a context for a call that is made again and again. It ends at the time to give up, which
// the tries of one call must not put off.
func (r *Reachable) Bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	r.mu.Lock()
	defer r.mu.Unlock()
	left := r.giveUp
	if !r.failed.IsZero() {
		left -= r.now().Sub(r.failed)
	}
	return context.WithTimeout(ctx, max(left, time.Second)) // a process that stood still tries once more
}

// Lost records a failed call. It returns an error when the time to give up has come.
func (r *Reachable) Lost(cause error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.gone {
		r.gone, r.since = true, r.now()
		if !r.failed.IsZero() {
			r.since = r.failed
		}
	}
	away := r.now().Sub(r.since)
	if away < r.giveUp {
		return nil
	}
	if errors.Is(cause, context.DeadlineExceeded) { // of Bounded
		cause = errNoAnswer
	}
	return Fail(Environment, fmt.Errorf(GaveUp+"%s: %w", away.Round(100*time.Millisecond), cause),
		"start the blackboard again; sett up brings the instance back to where it was")
}

var errNoAnswer = errors.New("it does not answer")

// Back records a successful call.
func (r *Reachable) Back() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		r.gone, r.since = false, r.now()
	}
}

// SteadySince returns the time of the blackboard's return; the zero time while it is
// away.
func (r *Reachable) SteadySince() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return time.Time{}
	}
	return r.since
}

// Away returns the time since the blackboard went away; zero while it answers.
func (r *Reachable) Away() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.gone {
		return 0
	}
	return max(r.now().Sub(r.since), 0)
}

// Left is the time until it is time to give up; more than a day while the blackboard answers.
func (r *Reachable) Left() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.gone {
		return 48 * time.Hour
	}
	return max(r.giveUp-r.now().Sub(r.since), 0)
}

// Patiently repeats a call while the blackboard is away, until the time to give up
// comes, the context ends, or hurry closes.
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
