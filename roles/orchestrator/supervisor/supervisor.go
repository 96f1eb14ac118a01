// Package supervisor keeps one unit per agent of the clan running, the repository, and
// the notifier if the clan wants one. It restarts units that end, ends units that are silent or
// unhealthy, and settles the grants of holders that died. It decides nothing about
// claims; workers of fresh_per_call agents belong to a pool that it drives.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// unknownGrace is for agents that have left the configuration.
const unknownGrace = 10 * time.Second

// Metrics shows the state of agents.
type Metrics interface {
	Restarted(agent string)
	Seen(agent string, pause time.Duration, checked bool)
	Healthy(agent string, well bool)
	Forget(agent string)
}

// Pool starts workers. The supervisor calls it from its own goroutine.
type Pool interface {
	// Adopt takes over the workers among the units that a former leader started.
	Adopt(ctx context.Context, units []runtime.Unit) error
	// Converge starts and stops workers. It returns the time of the next look; zero:
	// when something changes.
	Converge(ctx context.Context) (next time.Time)
	// Ended deals with a worker that has ended.
	Ended(ctx context.Context, e runtime.Exit)
}

// Workers lists the units of a pool. A unit that is being started or stopped is not
// Running.
type Workers interface {
	Units() []runtime.Unit
	// Retire returns the units of an agent that are to end at once. None of them gets
	// a claim any more.
	Retire(agent string) []runtime.Unit
}

// Pace is the timing of a supervisor.
type Pace struct {
	LookAround  time.Duration // between looks for silent units and orphaned grants
	SilentAfter time.Duration // a unit without a heartbeat for so long counts as hung
	Promise     time.Duration // the longest time that one heartbeat counts for
	AskHealth   time.Duration // between looks for due health checks
}

// Options of a Supervisor. All of them are required.
type Options struct {
	Log      *slog.Logger
	Now      func() time.Time
	Config   func() *config.Config          // the one in force
	Stopping func(ctx context.Context) bool // the instance is being taken down: an end is no crash
	Since    time.Time                      // the begin of the term
	Steady   func() time.Time               // since when the blackboard has answered; zero: it does not
	Tick     time.Duration                  // the pause before a start while the instance is stopping
	Pace     Pace
	Backoff  runtime.Backoff

	ServerTime     func(ctx context.Context) (time.Time, error)
	ForgetWorker   func(ctx context.Context, agent, incarnation string) error
	Goodbye        func(ctx context.Context, agent, incarnation, reason string) error // records an agent's end
	ForgetNotified func(ctx context.Context) error                                    // when there is no notifier

	Place        runtime.Runtime
	Specs        Specs
	Loop         *Loop
	Launcher     *Launcher
	Orphans      *Orphans
	Incarnations *Incarnations
	Roster       Roster
	Prober       Prober
	Metrics      Metrics
	Pool         Pool
	Workers      Workers
}

// Supervisor keeps units running. Its state belongs to one goroutine, which never
// waits: slow operations (starting, stopping with grace, calls of the blackboard) run
// aside, one per unit at a time, and come back as steps.
type Supervisor struct {
	Options
	units   map[string]*managed // by name
	looking bool                // for orphans
	pulses  pulses
	wakes   int // how often something changed
}

// New returns a supervisor that has not looked yet which units run.
func New(o Options) *Supervisor { return &Supervisor{Options: o, units: map[string]*managed{}} }

// Run supervises until the term ends. The units go on without it.
func (s *Supervisor) Run(ctx context.Context) error {
	defer func() {
		for _, m := range s.units {
			s.Metrics.Forget(m.agent)
		}
	}()
	defer s.Loop.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	exits, err := s.Place.Exits(ctx)
	if err != nil {
		return fmt.Errorf("follow exits: %w", err)
	}
	if err := s.adopt(ctx); err != nil {
		return err
	}
	s.lookForOrphans(ctx)
	s.Loop.running.Go(func() { s.askHealth(ctx) })
	every := time.NewTicker(s.Pace.LookAround)
	defer every.Stop()
	for {
		retry := s.converge(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-s.Loop.changed:
			s.unhold()
		case <-every.C:
			s.lookForSilent(ctx)
			s.lookForOrphans(ctx)
		case e, ok := <-exits:
			if !ok {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return errors.New("follow exits: they ended")
			}
			s.ended(ctx, e)
		case step := <-s.Loop.steps:
			step()
		case <-retry:
		}
	}
}

// unhold lets units start that wait for the instance: it may run again.
func (s *Supervisor) unhold() {
	s.wakes++
	for _, m := range s.units {
		m.unhold()
	}
}

// adopt takes over the units that a former leader started. An end in the meantime is
// delivered as an exit.
func (s *Supervisor) adopt(ctx context.Context) error {
	units, err := s.Place.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("list units: %w", err)
	}
	if err := s.Pool.Adopt(ctx, units); err != nil {
		return err
	}
	for _, u := range units {
		l := u.Labels
		switch l[runtime.LabelComponent] {
		case runtime.ComponentAnchor:
			if u.Running {
				s.Launcher.add(u.Name, l[runtime.LabelAgent])
			}
			continue
		case runtime.ComponentAgent, runtime.ComponentNotifier, runtime.ComponentRepository, runtime.ComponentModelGateway:
			s.adoptUnit(u)
		case runtime.ComponentWorker:
		default:
			continue
		}
		if u.Running {
			s.Incarnations.begin(l[runtime.LabelIncarnation])
		} else {
			s.Incarnations.end(l[runtime.LabelIncarnation], ending{s.Now(), unwatched})
		}
	}
	if s.Config().Notify == nil && s.units[runtime.ComponentNotifier] == nil {
		if err := s.ForgetNotified(ctx); err != nil { // the notifier was removed while nobody led
			s.Log.Warn("position of the notifier not forgotten", "error", err)
		}
	}
	return nil
}

// adoptUnit takes over a unit of desired.
func (s *Supervisor) adoptUnit(u runtime.Unit) {
	l := u.Labels
	m := s.newManaged(u.Name, l[runtime.LabelAgent])
	m.running, m.incarnation, m.digest = u.Running, l[runtime.LabelIncarnation], l[runtime.LabelConfig]
	m.started, m.address, m.grace = u.StartedAt, u.Address, unknownGrace
	if d, ok := s.desired()[u.Name]; ok {
		m.grace = d.grace
	}
	s.units[u.Name] = m
}

// desired returns the units that are to run, by name.
func (s *Supervisor) desired() map[string]desired {
	cfg, all := s.Config(), map[string]desired{}
	for _, agent := range cfg.Agents {
		all[runtime.AgentUnit(agent.Name)] = desired{agent: agent, digest: agent.Digest(), grace: agent.Grace + cubGrace,
			spec: func() (runtime.Spec, error) { return s.Specs.Agent(agent) }}
	}
	if n := cfg.Notify; n != nil {
		all[runtime.ComponentNotifier] = desired{digest: n.Digest(), grace: notifierGrace,
			spec: func() (runtime.Spec, error) { return s.Specs.Notifier(*n) }}
	}
	if cfg.HasTrees() {
		all[runtime.ComponentRepository] = desired{digest: cfg.RepositoryDigest(), grace: repositoryGrace,
			spec: func() (runtime.Spec, error) { return s.Specs.Repository(cfg) }}
	}
	if len(cfg.Models) > 0 {
		all[runtime.ComponentModelGateway] = desired{digest: cfg.ModelsDigest(), grace: gatewayGrace,
			spec: func() (runtime.Spec, error) { return s.Specs.ModelGateway(cfg) }}
	}
	return all
}

// cubGrace is for a cub to keep its tool's changes and to hand in the outcome, beyond the
// tool's grace. notifierGrace is more than the notifier gives its command. The repository
// and the model gateway end at once.
const (
	cubGrace        = 3 * time.Second
	notifierGrace   = 10 * time.Second
	repositoryGrace = 10 * time.Second
	gatewayGrace    = 10 * time.Second
)

// converge begins to start the units that should run and to stop those that should
// not. It returns a channel that fires when something more is due.
func (s *Supervisor) converge(ctx context.Context) <-chan time.Time {
	all, now := s.desired(), s.Now()
	for unit, d := range all {
		if s.units[unit] == nil {
			s.units[unit] = s.newManaged(unit, d.agent.Name)
		}
	}
	var next time.Time
	sooner := func(at time.Time) {
		if !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	for _, unit := range slices.Sorted(maps.Keys(s.units)) {
		m, want := s.units[unit], (*desired)(nil)
		if d, ok := all[unit]; ok {
			want = &d
			if m.agent != "" {
				s.Metrics.Seen(m.agent, m.pause(now), d.agent.HealthCheck != nil)
			}
		}
		sooner(s.tend(ctx, m, want))
	}
	sooner(s.Pool.Converge(ctx))
	s.dropAnchors(ctx)
	if next.IsZero() {
		return nil
	}
	return time.After(max(next.Sub(now), time.Millisecond))
}

// ended handles the exit of any unit of the instance.
func (s *Supervisor) ended(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	switch l[runtime.LabelComponent] {
	case runtime.ComponentBlackboard:
		s.reviveBlackboard(ctx, e)
		return
	case runtime.ComponentAnchor:
		s.anchorEnded(ctx, e)
		return
	}
	if why := s.Incarnations.reason(l[runtime.LabelIncarnation]); why != "" {
		e.Why = why
	}
	s.Incarnations.end(l[runtime.LabelIncarnation], ending{s.Now(), e})
	switch l[runtime.LabelComponent] {
	case runtime.ComponentWorker:
		s.Pool.Ended(ctx, e)
	case runtime.ComponentAgent, runtime.ComponentNotifier, runtime.ComponentRepository, runtime.ComponentModelGateway:
		s.unitEnded(ctx, e)
	}
}

// lookForOrphans settles the grants of holders that ended while nobody led.
func (s *Supervisor) lookForOrphans(ctx context.Context) {
	if s.looking {
		return
	}
	s.looking = true
	s.Loop.Aside(ctx, func() func() {
		before := s.Now().Add(-s.Pace.LookAround)
		if !s.Stopping(ctx) {
			s.Orphans.look(ctx, before)
		}
		return func() { s.looking = false }
	})
}

func (s *Supervisor) goodbye(ctx context.Context, agent, incarnation string, e runtime.Exit) {
	err := s.Goodbye(ctx, agent, incarnation, e.Told())
	if err != nil && ctx.Err() == nil && !errors.Is(err, blackboard.ErrStale) {
		s.Log.Warn("end not recorded", "agent", agent, "error", err)
	}
}
