package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"sett/runtime"
)

// KeepOptions configure Keep. The zero value is what the keeper uses.
type KeepOptions struct {
	Logger   *slog.Logger  // nil: slog.Default()
	Stopping func() bool   // asked before every start; true ends Keep. nil: never
	Shortest time.Duration // first back-off; 0: 100 ms
	Longest  time.Duration // the back-off doubles up to this; 0: 10 s
	Healthy  time.Duration // after a run of this length it begins anew; 0: 30 s

	Now   func() time.Time                     // nil: time.Now
	After func(time.Duration) <-chan time.Time // nil: time.After
}

// Keep starts the units in order, adopts those that run, and starts each again
// that ends, however it ends, after a back-off. A start that fails counts as an
// end. It returns nil when the context ends or o.Stopping says so, and leaves the
// units running then; an error only if ends cannot be followed.
func Keep(ctx context.Context, rt runtime.Runtime, specs []runtime.Spec, o KeepOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// First, so that no end is missed. It also delivers ends from before, of
	// which start will say that they are not its own.
	exits, err := rt.Exits(ctx)
	if err != nil {
		return fmt.Errorf("follow exits: %w", err)
	}
	k := &keeper{rt: rt, o: o.withDefaults()}
	for _, s := range specs {
		k.kept = append(k.kept, &kept{spec: s, due: k.o.Now()})
	}
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

func (o KeepOptions) withDefaults() KeepOptions {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Stopping == nil {
		o.Stopping = func() bool { return false }
	}
	if o.Shortest <= 0 {
		o.Shortest = 100 * time.Millisecond
	}
	if o.Longest <= 0 {
		o.Longest = 10 * time.Second
	}
	if o.Healthy <= 0 {
		o.Healthy = 30 * time.Second
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	return o
}

type keeper struct {
	rt   runtime.Runtime
	o    KeepOptions
	kept []*kept
}

// kept is a unit that is to run: it either does, or is due to be started.
type kept struct {
	spec  runtime.Spec
	unit  runtime.Unit
	runs  bool
	due   time.Time
	delay time.Duration // before the last start; 0: none
}

// startDue starts what is due, and says whether Keep is to end.
func (k *keeper) startDue(ctx context.Context) (stopped bool) {
	for _, u := range k.kept {
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
			k.later(u)
			k.o.Logger.Error("unit did not start", "unit", u.spec.Name, "error", err, "again_in", u.delay)
			continue
		}
		u.unit, u.runs = unit, true
		k.o.Logger.Info("unit runs", "unit", unit.Name, "id", unit.ID)
	}
	return k.o.Stopping()
}

// ended notes the end of a unit that is kept. Ends of others, and of earlier
// starts of its own, are of no interest.
func (k *keeper) ended(e runtime.Exit) {
	for _, u := range k.kept {
		if !u.runs || u.unit.Name != e.Unit.Name || u.unit.ID != e.Unit.ID ||
			!u.unit.StartedAt.Equal(e.Unit.StartedAt) {
			continue
		}
		u.runs = false
		if e.At.Sub(e.Unit.StartedAt) >= k.o.Healthy {
			u.delay = 0
		}
		k.later(u)
		k.o.Logger.Warn("unit ended", "unit", e.Unit.Name, "code", e.Code, "text", e.Text,
			"oom", e.OOM, "tail", e.Tail, "again_in", u.delay)
	}
}

// later makes the unit due after its next back-off.
func (k *keeper) later(u *kept) {
	u.delay = min(max(2*u.delay, k.o.Shortest), k.o.Longest)
	u.due = k.o.Now().Add(u.delay)
}

// timer fires when the next unit is due; nil, which never does, when none is.
func (k *keeper) timer() <-chan time.Time {
	var next *kept
	for _, u := range k.kept {
		if !u.runs && (next == nil || u.due.Before(next.due)) {
			next = u
		}
	}
	if next == nil {
		return nil
	}
	return k.o.After(next.due.Sub(k.o.Now()))
}
