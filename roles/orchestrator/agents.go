package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// unknownGrace is for agents of which nobody remembers the configuration.
const unknownGrace = 10 * time.Second

// agents keeps one unit per agent of the clan running, and the notifier where it is
// wanted, and learns of every end. Its state belongs to one goroutine, which never
// waits: whatever takes time (starting, stopping with its grace, telling the
// blackboard) happens beside it, one operation per unit at a time, and comes back as
// a step.
type agents struct {
	*leadership
	changed chan struct{}
	steps   chan func()
	beside  sync.WaitGroup
	kept    map[string]*kept  // by unit
	why     map[string]string // why we ended an incarnation ourselves
	anchors *anchors
	looking bool
	words   int // how often we were told that something changed
}

func newAgents(l *leadership) *agents {
	return &agents{leadership: l, changed: make(chan struct{}, 1), steps: make(chan func()),
		kept: map[string]*kept{}, why: map[string]string{}, anchors: &anchors{agent: map[string]string{}, address: map[string]string{}}}
}

func (a *agents) wake() { wake(a.changed) }

// run supervises until the term ends. The agents go on without us.
func (a *agents) run(ctx context.Context) error {
	defer a.metrics.forgetAll()
	defer a.beside.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	exits, err := a.runtime.Exits(ctx)
	if err != nil {
		return fmt.Errorf("follow exits: %w", err)
	}
	if err := a.adopt(ctx); err != nil {
		return err
	}
	a.lookForOrphans(ctx)
	a.beside.Go(func() { a.askHealth(ctx) })
	every := time.NewTicker(a.pace.lookAround)
	defer every.Stop()
	for {
		retry := a.converge(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.changed:
			a.unhold()
		case <-every.C:
			a.lookForSilent(ctx)
			a.lookForOrphans(ctx)
		case e, ok := <-exits:
			if !ok {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return errors.New("follow exits: they ended")
			}
			a.ended(ctx, e)
		case step := <-a.steps:
			step()
		case <-retry:
		}
	}
}

// unhold has looked at once whether the instance still is stopping.
func (a *agents) unhold() {
	a.words++
	for _, k := range a.kept {
		k.unhold()
	}
}

// aside does something that takes time, and then the step it returns, which has
// the state to itself.
func (a *agents) aside(ctx context.Context, f func() (step func())) {
	a.beside.Go(func() {
		step := f()
		if step == nil {
			return
		}
		select {
		case a.steps <- step:
		case <-ctx.Done():
		}
	})
}

// adopt takes over what a former leader started. What has ended meanwhile is
// delivered as an exit.
func (a *agents) adopt(ctx context.Context) error {
	units, err := a.runtime.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("list units: %w", err)
	}
	tasks, err := a.assigned(ctx, units)
	if err != nil {
		return err
	}
	for _, u := range units {
		l := u.Labels
		incarnation := l[runtime.LabelIncarnation]
		switch l[runtime.LabelComponent] {
		case runtime.ComponentAnchor:
			if u.Running {
				a.anchors.add(u.Name, l[runtime.LabelAgent])
			}
			continue
		case runtime.ComponentAgent, runtime.ComponentNotifier:
			a.adoptKept(u)
		case runtime.ComponentWorker:
			a.workers.adopt(u, tasks[incarnation])
		default:
			continue
		}
		if u.Running {
			a.living.begin(incarnation)
		} else {
			a.living.end(incarnation, a.env.Now())
		}
	}
	if a.clan.get().Notify == nil && a.kept[runtime.ComponentNotifier] == nil {
		if err := a.board.ForgetNotified(ctx); err != nil { // it went while nobody led
			a.log.Warn("position of the notifier not forgotten", "error", err)
		}
	}
	return nil
}

// adoptKept takes over an agent's unit, or the notifier.
func (a *agents) adoptKept(u runtime.Unit) {
	l := u.Labels
	k := a.newKept(u.Name, l[runtime.LabelAgent])
	k.running, k.incarnation, k.digest = u.Running, l[runtime.LabelIncarnation], l[runtime.LabelConfig]
	k.started, k.address, k.grace = u.StartedAt, u.Address, unknownGrace
	if w, ok := a.wishes()[u.Name]; ok {
		k.grace = w.grace
	}
	a.kept[u.Name] = k
}

// wishes are the units that are to run, by name.
func (a *agents) wishes() map[string]wish {
	cfg, all := a.clan.get(), map[string]wish{}
	for _, agent := range cfg.Agents {
		all[runtime.AgentUnit(agent.Name)] = wish{agent: agent, digest: agent.Digest(), grace: agent.Grace + time.Second,
			spec: func() (runtime.Spec, error) { return a.spec(agent, runtime.ComponentAgent) }}
	}
	if n := cfg.Notify; n != nil {
		all[runtime.ComponentNotifier] = wish{digest: n.Digest(), grace: notifierGrace,
			spec: func() (runtime.Spec, error) { return a.notifierSpec(*n) }}
	}
	return all
}

// converge begins to start what should run and to stop what should not. It
// returns a channel that fires when something more is due.
func (a *agents) converge(ctx context.Context) <-chan time.Time {
	wishes, now := a.wishes(), a.env.Now()
	for unit, w := range wishes {
		if a.kept[unit] == nil {
			a.kept[unit] = a.newKept(unit, w.agent.Name)
		}
	}
	var next time.Time
	sooner := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(a.kept)) {
		k, w := a.kept[unit], (*wish)(nil)
		if wanted, ok := wishes[unit]; ok {
			w = &wanted
			a.metrics.sees(k, wanted.agent, now)
		}
		sooner(a.tend(ctx, k, w))
	}
	sooner(a.workers.converge(ctx))
	a.dropAnchors(ctx)
	if next.IsZero() {
		return nil
	}
	return time.After(max(next.Sub(now), time.Millisecond))
}

// ended deals with a unit that is no more.
func (a *agents) ended(ctx context.Context, e runtime.Exit) {
	switch l := e.Unit.Labels; l[runtime.LabelComponent] {
	case runtime.ComponentBlackboard:
		a.reviveBlackboard(ctx, e)
	case runtime.ComponentAnchor:
		a.anchorEnded(ctx, e)
	case runtime.ComponentWorker:
		a.living.end(l[runtime.LabelIncarnation], a.env.Now())
		a.workers.ended(ctx, e)
	case runtime.ComponentAgent, runtime.ComponentNotifier:
		a.living.end(l[runtime.LabelIncarnation], a.env.Now())
		a.keptEnded(ctx, e)
	}
}

func (a *agents) sayGoodbye(ctx context.Context, name, incarnation string, e runtime.Exit) {
	err := a.board.Goodbye(ctx, name, incarnation, e.Text)
	if err != nil && ctx.Err() == nil && !errors.Is(err, blackboard.ErrStale) {
		a.log.Warn("end not recorded", "agent", name, "error", err)
	}
}
