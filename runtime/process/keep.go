package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sett/runtime"
)

// KeepOptions configure Keep.
type KeepOptions struct {
	Logger   *slog.Logger    // nil: slog.Default()
	Stopping func() bool     // asked before every start; true ends Keep. nil: never
	Backoff  runtime.Backoff // zero: from 100 ms to 10 s, and again 100 ms after a run of 30 s

	Now   func() time.Time                     // nil: time.Now
	After func(time.Duration) <-chan time.Time // nil: time.After
}

// Keep starts the units in order, adopts running ones, and restarts each after every
// end, with a back-off. A start that fails counts as an end. It returns nil when the
// context ends or o.Stopping returns true, and leaves the units running then; an error
// only if it cannot follow their ends.
func Keep(ctx context.Context, rt runtime.Runtime, specs []runtime.Spec, o KeepOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// First, so that no end is missed. It also delivers earlier ends, which belong to
	// none of the starts below.
	exits, err := rt.Exits(ctx)
	if err != nil {
		return fmt.Errorf("follow exits: %w", err)
	}
	k := newKeeper(rt, specs, o)
	for {
		if stopped := k.startDue(ctx); stopped || ctx.Err() != nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case e, ok := <-exits:
			if !ok && ctx.Err() == nil {
				return errors.New("follow exits: they ended")
			}
			k.ended(e)
		case <-k.timer():
		}
	}
}

type keeper struct {
	rt    runtime.Runtime
	o     KeepOptions
	units []*managed
}

// managed is a unit that should run: either it does, or its next start is due.
type managed struct {
	spec runtime.Spec
	unit runtime.Unit
	runs bool
	due  time.Time
	back runtime.Backoff
}

func newKeeper(rt runtime.Runtime, specs []runtime.Spec, o KeepOptions) *keeper {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Stopping == nil {
		o.Stopping = func() bool { return false }
	}
	if o.Backoff == (runtime.Backoff{}) {
		o.Backoff = runtime.Backoff{Shortest: 100 * time.Millisecond, Longest: 10 * time.Second, Healthy: 30 * time.Second}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	k := &keeper{rt: rt, o: o}
	for _, s := range specs {
		k.units = append(k.units, &managed{spec: s, due: o.Now(), back: o.Backoff})
	}
	return k
}

// startDue starts every unit that is due, and says whether Keep must return.
func (k *keeper) startDue(ctx context.Context) (stopped bool) {
	for _, u := range k.units {
		if u.runs || u.due.After(k.o.Now()) {
			continue
		}
		if k.o.Stopping() {
			return true
		}
		unit, err := k.rt.Start(ctx, u.spec)
		if ctx.Err() != nil {
			return true
		}
		if err != nil {
			pause := u.back.Failed()
			u.due = k.o.Now().Add(pause)
			k.o.Logger.Error("unit did not start", "unit", u.spec.Name, "error", err, "again_in", pause)
			continue
		}
		u.unit, u.runs = unit, true
		k.o.Logger.Info("unit runs", "unit", unit.Name, "id", unit.ID)
	}
	return k.o.Stopping()
}

// ended plans the next start of a managed unit after its end. It ignores the ends of
// other units and of earlier starts.
func (k *keeper) ended(e runtime.Exit) {
	for _, u := range k.units {
		if !u.runs || u.unit.Name != e.Unit.Name || u.unit.ID != e.Unit.ID ||
			!u.unit.StartedAt.Equal(e.Unit.StartedAt) {
			continue
		}
		u.runs = false
		pause := u.back.Ended(e.At.Sub(e.Unit.StartedAt))
		u.due = k.o.Now().Add(pause)
		k.o.Logger.Warn("unit ended", "unit", e.Unit.Name, "code", e.Code, "text", e.Text,
			"oom", e.OOM, "tail", e.Tail, "again_in", pause)
	}
}

// timer fires when the next unit is due; nil, which never fires, when none is.
func (k *keeper) timer() <-chan time.Time {
	var next *managed
	for _, u := range k.units {
		if !u.runs && (next == nil || u.due.Before(next.due)) {
			next = u
		}
	}
	if next == nil {
		return nil
	}
	return k.o.After(next.due.Sub(k.o.Now()))
}
