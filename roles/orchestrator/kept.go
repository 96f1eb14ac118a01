package orchestrator

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sett/contract/config"
	"sett/runtime"
)

// kept is a unit that is to run for as long as the clan wants one: an agent's own,
// or the notifier.
type kept struct {
	unit  string // its name
	agent string // whose it is; empty: it is the notifier
	noun  string // what the log calls it
	log   *slog.Logger

	busy        bool // an operation is under way
	running     bool
	incarnation string
	digest      string
	grace       time.Duration // to stop in
	started     time.Time
	address     string // where its container is reached; empty: here
	backoff     time.Duration
	due         time.Time // not before then is anything done
	held        bool      // due only because the instance was stopping
	exits       []runtime.Exit
}

// wish is how the clan wants a unit.
type wish struct {
	agent  config.Agent // nameless: it is the notifier
	digest string
	grace  time.Duration
	spec   func() (runtime.Spec, error)
}

// newKept returns the state of a unit of which there is none yet.
func (a *agents) newKept(unit, agent string) *kept {
	if agent == "" {
		return &kept{unit: unit, noun: "notifier", log: a.log}
	}
	return &kept{unit: unit, agent: agent, noun: "agent", log: a.log.With("agent", agent)}
}

// of returns the state of an agent's unit; nil: it has none.
func (a *agents) of(agent string) *kept { return a.kept[runtime.AgentUnit(agent)] }

// is says whether the unit runs as that incarnation and is being left alone.
func (k *kept) is(incarnation string) bool {
	return k != nil && k.running && !k.busy && k.incarnation == incarnation
}

func (k *kept) unhold() {
	if k.held {
		k.held, k.due = false, time.Time{}
	}
}

// done ends an operation. It returns the end of an incarnation that was delivered
// while it was under way.
func (k *kept) done(incarnation string) (e runtime.Exit, ended bool) {
	exits := k.exits
	k.busy, k.exits = false, nil
	i := slices.IndexFunc(exits, func(e runtime.Exit) bool { return e.Unit.Labels[runtime.LabelIncarnation] == incarnation })
	if i < 0 {
		return runtime.Exit{}, false
	}
	return exits[i], true
}

// tend begins what brings a unit closer to how it is wanted; nil: it is not. It
// returns when to look again, where that is known.
func (a *agents) tend(ctx context.Context, k *kept, w *wish) (next time.Time) {
	switch {
	case k.busy || w != nil && k.running && k.digest == w.digest:
	case a.env.Now().Before(k.due):
		return k.due
	case w == nil:
		k.log.Info(k.noun + " removed")
		a.remove(ctx, k)
	case k.running:
		k.log.Info(k.noun + " changed, restarting")
		a.stop(ctx, k, k.grace)
	default:
		a.start(ctx, k, *w)
	}
	return time.Time{}
}

func (a *agents) start(ctx context.Context, k *kept, w wish) {
	spec, err := w.spec()
	if err != nil {
		a.failed(k, "started", err)
		return
	}
	k.busy = true
	words := a.words
	a.aside(ctx, func() func() {
		if a.stopping(ctx) {
			return func() {
				k.done("")
				if a.words == words { // else look again at once: the word may have come meanwhile
					k.held, k.due = true, a.env.Now().Add(a.pace.tick)
				}
			}
		}
		u, err := a.launch(ctx, w.agent, spec)
		return func() {
			if err != nil {
				k.done("")
				a.failed(k, "started", err)
				return
			}
			a.began(k, w, u)
		}
	})
}

// launch starts a unit, whose incarnation lives from before it can take a grant.
func (a *agents) launch(ctx context.Context, agent config.Agent, s runtime.Spec) (runtime.Unit, error) {
	incarnation := s.Labels[runtime.LabelIncarnation]
	a.living.begin(incarnation)
	u, err := a.startJoined(ctx, agent, s)
	if adopted := u.Labels[runtime.LabelIncarnation]; err != nil || adopted != incarnation {
		a.living.forget(incarnation)
		if err == nil {
			a.living.begin(adopted)
		}
	}
	return u, err
}

// began notes that a unit was started. Its end may have been quicker than this.
func (a *agents) began(k *kept, w wish, u runtime.Unit) {
	l := u.Labels
	k.running, k.incarnation, k.digest = true, l[runtime.LabelIncarnation], l[runtime.LabelConfig]
	k.started, k.grace, k.address = u.StartedAt, w.grace, u.Address
	k.log.Info(k.noun+" started", "unit", u.Name, "id", u.ID, "incarnation", k.incarnation)
	if e, ended := k.done(k.incarnation); ended {
		k.running = false
		a.again(k, e, false)
	}
}

// stop ends a unit. What it leaves unfinished is dealt with when its end is
// delivered.
func (a *agents) stop(ctx context.Context, k *kept, grace time.Duration) {
	k.busy = true
	a.aside(ctx, func() func() {
		err := a.runtime.Stop(ctx, k.unit, grace)
		return func() {
			_, ended := k.done(k.incarnation)
			k.running = k.running && err != nil && !ended
			if err != nil {
				a.failed(k, "stopped", err)
			}
		}
	})
}

// remove ends a unit that nobody wants any more, and forgets what is only of use to
// it. Of the notifier that is how far people have been told: of what happens until
// they want to be told again they are not.
func (a *agents) remove(ctx context.Context, k *kept) {
	k.busy = true
	a.aside(ctx, func() func() {
		err := a.runtime.Stop(ctx, k.unit, k.grace)
		stopped := err == nil
		if stopped && k.agent == "" {
			err = a.board.ForgetNotified(ctx)
		}
		return func() {
			_, ended := k.done(k.incarnation)
			k.running = k.running && !stopped && !ended
			if err != nil {
				a.failed(k, "stopped", err)
				return
			}
			delete(a.kept, k.unit)
			a.metrics.forget(k.agent)
		}
	})
}

// failed puts off an operation that did not succeed.
func (a *agents) failed(k *kept, what string, err error) {
	a.delay(k)
	k.log.Error(k.noun+" not "+what, "error", err, "again_in", k.backoff)
}

func (a *agents) delay(k *kept) {
	k.backoff = min(max(2*k.backoff, a.pace.shortestBackoff), a.pace.longestBackoff)
	k.due = a.env.Now().Add(k.backoff)
}

// keptEnded deals with a unit that is no more: what it ran fails or is tried again,
// and the unit starts anew.
func (a *agents) keptEnded(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	agent, incarnation := l[runtime.LabelAgent], l[runtime.LabelIncarnation]
	if why, ok := a.why[incarnation]; ok {
		e.Text = why + ": " + e.Text
		delete(a.why, incarnation)
	}
	k := a.kept[e.Unit.Name]
	ours := k.is(incarnation) // else we end it ourselves, it is only just being started, or it is ours no more
	switch {
	case ours:
		k.busy, k.running = true, false
	case k != nil && k.busy:
		k.exits = append(k.exits, e)
	}
	a.aside(ctx, func() func() {
		planned := a.stopping(ctx)
		if !planned && agent != "" {
			a.bury(ctx, e)
			a.sayGoodbye(ctx, agent, incarnation, e)
		}
		a.living.forget(incarnation)
		if !ours {
			return nil
		}
		return func() {
			k.done("")
			a.again(k, e, planned)
		}
	})
}

// again decides when a unit that has ended is started again: soon after a healthy
// life, and else later each time, with whatever exit code it ended.
func (a *agents) again(k *kept, e runtime.Exit, planned bool) {
	k.due = time.Time{}
	if planned {
		return
	}
	if k.agent != "" {
		a.metrics.restarts.WithLabelValues(k.agent).Inc()
	}
	if a.env.Now().Sub(k.started) > a.pace.healthyAfter {
		k.backoff = 0
	}
	a.delay(k)
	k.log.Warn(k.noun+" ended", "incarnation", k.incarnation, "exit", e.Text, "code", e.Code, "oom", e.OOM, "tail", e.Tail,
		"again_in", k.backoff)
}
