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
	"sett/contract/config"
	"sett/runtime"
)

// unknownGrace is for agents of which nobody remembers the configuration.
const unknownGrace = 10 * time.Second

// agents keeps one unit per agent of the clan running, and learns of every end.
// Its state belongs to one goroutine, which never waits: whatever takes time
// (starting, stopping with its grace, telling the blackboard) happens beside it,
// one operation per agent at a time, and comes back as a step.
type agents struct {
	*leadership
	changed  chan struct{}
	steps    chan func()
	beside   sync.WaitGroup
	state    map[string]*agentState
	why      map[string]string // why we ended an incarnation ourselves
	anchors  *anchors
	notifier agentState // of the one unit that is no agent's
	looking  bool
	words    int // how often we were told that something changed
}

type agentState struct {
	busy        bool // an operation is under way
	running     bool
	incarnation string
	digest      string
	grace       time.Duration
	started     time.Time
	address     string // where its container is reached; empty: here
	backoff     time.Duration
	due         time.Time // not before then is anything done
	held        bool      // due only because the instance was stopping
}

func newAgents(l *leadership) *agents {
	return &agents{leadership: l, changed: make(chan struct{}, 1), steps: make(chan func()),
		state: map[string]*agentState{}, why: map[string]string{}, anchors: &anchors{agent: map[string]string{}, address: map[string]string{}}}
}

func (a *agents) wake() { wake(a.changed) }

// run supervises until the term ends. The agents go on without us.
func (a *agents) run(ctx context.Context) error {
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
	for _, s := range a.state {
		s.unhold()
	}
	a.notifier.unhold()
}

func (s *agentState) unhold() {
	if s.held {
		s.held, s.due = false, time.Time{}
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
		component, incarnation := l[runtime.LabelComponent], l[runtime.LabelIncarnation]
		if component == runtime.ComponentAnchor && u.Running {
			a.anchors.add(u.Name, l[runtime.LabelAgent])
		}
		if component == runtime.ComponentNotifier {
			a.adoptNotifier(u)
		}
		if component != runtime.ComponentAgent && component != runtime.ComponentWorker {
			continue
		}
		if u.Running {
			a.living.begin(incarnation)
		} else {
			a.living.end(incarnation, a.env.Now())
		}
		switch component {
		case runtime.ComponentAgent:
			s := &agentState{running: u.Running, incarnation: incarnation, digest: l[runtime.LabelConfig],
				started: u.StartedAt, address: u.Address, grace: unknownGrace}
			if cfg, ok := a.clan.get().Agent(l[runtime.LabelAgent]); ok {
				s.grace = cfg.Grace
			}
			a.state[l[runtime.LabelAgent]] = s
		default:
			a.workers.adopt(u, tasks[incarnation])
		}
	}
	return nil
}

// converge begins to start what should run and to stop what should not. It
// returns a channel that fires when something more is due.
func (a *agents) converge(ctx context.Context) <-chan time.Time {
	cfg, now := a.clan.get(), a.env.Now()
	for _, agent := range cfg.Agents {
		if a.state[agent.Name] == nil {
			a.state[agent.Name] = &agentState{}
		}
	}
	var next time.Time
	for _, name := range slices.Sorted(maps.Keys(a.state)) {
		s := a.state[name]
		agent, member := cfg.Agent(name)
		a.metrics.delayed(name, s, now)
		switch {
		case s.busy || (member && s.running && s.digest == agent.Digest()):
		case now.Before(s.due):
			if next.IsZero() || s.due.Before(next) {
				next = s.due
			}
		case !member:
			a.log.Info("agent removed", "agent", name)
			a.stop(ctx, name, s, s.grace+time.Second)
		case s.running:
			a.log.Info("agent changed, restarting", "agent", name)
			a.stop(ctx, name, s, s.grace+time.Second)
		default:
			a.start(ctx, agent, s)
		}
	}
	for _, at := range []time.Time{a.convergeNotifier(ctx), a.workers.converge(ctx)} {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	a.dropAnchors(ctx)
	if next.IsZero() {
		return nil
	}
	return time.After(max(next.Sub(now), time.Millisecond))
}

func (a *agents) start(ctx context.Context, agent config.Agent, s *agentState) {
	s.busy = true
	spec, err := a.spec(agent, runtime.ComponentAgent)
	if err != nil {
		s.busy = false
		a.delay(s)
		a.log.Error("agent not started", "agent", agent.Name, "error", err, "again_in", s.backoff)
		return
	}
	incarnation := spec.Labels[runtime.LabelIncarnation]
	a.living.begin(incarnation) // before it can take a grant
	words := a.words
	a.aside(ctx, func() func() {
		if a.stopping(ctx) {
			a.living.forget(incarnation)
			return func() {
				s.busy = false
				if a.words == words { // else look again at once: the word may have come meanwhile
					s.held, s.due = true, a.env.Now().Add(a.pace.tick)
				}
			}
		}
		u, err := a.startJoined(ctx, agent, spec)
		if adopted := u.Labels[runtime.LabelIncarnation]; err != nil || adopted != incarnation {
			a.living.forget(incarnation)
			incarnation = adopted
			if err == nil {
				a.living.begin(incarnation)
			}
		}
		return func() {
			s.busy = false
			if err != nil {
				a.delay(s)
				a.log.Error("agent not started", "agent", agent.Name, "error", err, "again_in", s.backoff)
				return
			}
			s.incarnation, s.digest, s.started, s.grace = incarnation, u.Labels[runtime.LabelConfig], u.StartedAt, agent.Grace
			s.address = u.Address
			s.running = true
			a.log.Info("agent started", "agent", agent.Name, "unit", u.Name, "id", u.ID, "incarnation", incarnation)
			if !a.living.runs(incarnation) { // its end was quicker than this
				s.running = false
				a.delay(s)
			}
		}
	})
}

// stop ends an agent's unit, and forgets an agent that has left the clan. What
// it leaves unfinished is dealt with when its end is delivered.
func (a *agents) stop(ctx context.Context, name string, s *agentState, grace time.Duration) {
	s.busy = true
	a.aside(ctx, func() func() {
		err := a.runtime.Stop(ctx, runtime.AgentUnit(name), grace)
		return func() {
			s.busy = false
			if err != nil {
				a.delay(s)
				a.log.Error("agent not stopped", "agent", name, "error", err, "again_in", s.backoff)
				return
			}
			s.running = false
			if _, member := a.clan.get().Agent(name); !member {
				delete(a.state, name)
				a.metrics.forget(name)
			}
		}
	})
}

func (a *agents) delay(s *agentState) {
	s.backoff = min(max(2*s.backoff, a.pace.shortestBackoff), a.pace.longestBackoff)
	s.due = a.env.Now().Add(s.backoff)
}

// ended deals with a unit that is no more: what it ran fails or is tried again,
// and the agent starts anew.
func (a *agents) ended(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	name, incarnation := l[runtime.LabelAgent], l[runtime.LabelIncarnation]
	component := l[runtime.LabelComponent]
	switch component {
	case runtime.ComponentAgent, runtime.ComponentWorker:
	case runtime.ComponentBlackboard:
		a.reviveBlackboard(ctx, e)
		return
	case runtime.ComponentAnchor:
		a.anchorEnded(ctx, e)
		return
	case runtime.ComponentNotifier:
		a.notifierEnded(e)
		return
	default:
		return
	}
	a.living.end(incarnation, a.env.Now())
	if component == runtime.ComponentWorker {
		a.workers.ended(ctx, e)
		return
	}
	if why, ok := a.why[incarnation]; ok {
		e.Text = why + ": " + e.Text
		delete(a.why, incarnation)
	}
	s := a.state[name]
	if s != nil && (s.busy || !s.running || s.incarnation != incarnation) {
		s = nil // we stop it ourselves, or it is not ours any more
	}
	if s != nil {
		s.busy, s.running = true, false
	}
	a.aside(ctx, func() func() {
		planned := a.stopping(ctx)
		if !planned {
			a.bury(ctx, e)
			a.sayGoodbye(ctx, name, incarnation, e)
		}
		a.living.forget(incarnation)
		if s == nil {
			return nil
		}
		return func() { a.again(name, s, e, planned) }
	})
}

// again decides when an agent that has ended is started again.
func (a *agents) again(name string, s *agentState, e runtime.Exit, planned bool) {
	s.busy, s.due = false, time.Time{}
	if planned {
		return
	}
	a.metrics.restarts.WithLabelValues(name).Inc()
	if e.Code == 0 || a.env.Now().Sub(s.started) > a.pace.healthyAfter {
		s.backoff = 0
	}
	if e.Code != 0 {
		a.delay(s)
	}
	a.log.Warn("agent ended", "agent", name, "incarnation", s.incarnation, "exit", e.Text, "code", e.Code, "oom", e.OOM,
		"tail", e.Tail, "again_in", s.backoff)
}

func (a *agents) sayGoodbye(ctx context.Context, name, incarnation string, e runtime.Exit) {
	err := a.board.Goodbye(ctx, name, incarnation, e.Text)
	if err != nil && ctx.Err() == nil && !errors.Is(err, blackboard.ErrStale) {
		a.log.Warn("end not recorded", "agent", name, "error", err)
	}
}
