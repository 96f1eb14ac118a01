package supervisor

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"sett/contract/config"
	"sett/runtime"
)

// managed is a unit that runs for as long as the clan wants it: an agent's own unit,
// the notifier, or the repository.
type managed struct {
	unit  string // its name
	agent string // empty: it is the notifier or the repository
	noun  string // for the log
	log   *slog.Logger

	busy        bool // an operation is under way
	running     bool
	incarnation string
	digest      string
	grace       time.Duration // to stop in
	started     time.Time
	address     string // of its container; empty: it is a process of this machine
	backoff     runtime.Backoff
	due         time.Time // nothing is done before then
	held        bool      // due only because the instance was stopping
	exits       []runtime.Exit
}

// desired is the configuration that a unit is to run with.
type desired struct {
	agent  config.Agent // nameless: it is no agent's
	digest string
	grace  time.Duration
	spec   func() (runtime.Spec, error)
}

// newManaged returns the state of a unit that was not started yet.
func (s *Supervisor) newManaged(unit, agent string) *managed {
	m := &managed{unit: unit, noun: unit, log: s.Log, backoff: s.Backoff}
	if agent != "" {
		m.agent, m.noun, m.log = agent, "agent", s.Log.With("agent", agent)
	}
	return m
}

// of returns the state of an agent's unit; nil: it has none.
func (s *Supervisor) of(agent string) *managed { return s.units[runtime.AgentUnit(agent)] }

// is says whether the unit runs as that incarnation and is being left alone.
func (m *managed) is(incarnation string) bool {
	return m != nil && m.running && !m.busy && m.incarnation == incarnation
}

func (m *managed) unhold() {
	if m.held {
		m.held, m.due = false, time.Time{}
	}
}

// pause returns the time until the unit's next start; 0: it runs or starts at once.
func (m *managed) pause(now time.Time) time.Duration {
	if m.running || m.held {
		return 0
	}
	return m.due.Sub(now)
}

// done ends an operation. It says whether the end of an incarnation was delivered
// meanwhile, and returns it.
func (m *managed) done(incarnation string) (e runtime.Exit, ended bool) {
	exits := m.exits
	m.busy, m.exits = false, nil
	i := slices.IndexFunc(exits, func(e runtime.Exit) bool { return e.Unit.Labels[runtime.LabelIncarnation] == incarnation })
	if i < 0 {
		return runtime.Exit{}, false
	}
	return exits[i], true
}

// tend begins the operation that brings a unit closer to its desired state; nil: the
// clan does not want it. It returns the time of the next look, if that is known.
func (s *Supervisor) tend(ctx context.Context, m *managed, d *desired) (next time.Time) {
	switch {
	case m.busy || d != nil && m.running && m.digest == d.digest:
	case s.Now().Before(m.due):
		return m.due
	case d == nil:
		m.log.Info(m.noun + " removed")
		s.remove(ctx, m)
	case m.running:
		m.log.Info(m.noun + " changed, restarting")
		s.stop(ctx, m, m.grace)
	default:
		s.start(ctx, m, *d)
	}
	return time.Time{}
}

func (s *Supervisor) start(ctx context.Context, m *managed, d desired) {
	spec, err := d.spec()
	if err != nil {
		s.failed(m, "started", err)
		return
	}
	m.busy = true
	wakes := s.wakes
	s.Loop.Aside(ctx, func() func() {
		if s.Stopping(ctx) {
			return func() {
				m.done("")
				if s.wakes == wakes { // else look again at once: the instance may run again
					m.held, m.due = true, s.Now().Add(s.Tick)
				}
			}
		}
		u, err := s.Launcher.Launch(ctx, d.agent, spec)
		return func() {
			if err != nil {
				m.done("")
				s.failed(m, "started", err)
				return
			}
			s.began(m, d, u)
		}
	})
}

// began notes that a unit was started. Its end may have come first.
func (s *Supervisor) began(m *managed, d desired, u runtime.Unit) {
	l := u.Labels
	m.running, m.incarnation, m.digest = true, l[runtime.LabelIncarnation], l[runtime.LabelConfig]
	m.started, m.grace, m.address = u.StartedAt, d.grace, u.Address
	m.log.Info(m.noun+" started", "unit", u.Name, "id", u.ID, "incarnation", m.incarnation)
	if e, ended := m.done(m.incarnation); ended {
		m.running = false
		s.again(m, e, false)
	}
}

// stop ends a unit. Its unfinished work is dealt with when its end is delivered.
func (s *Supervisor) stop(ctx context.Context, m *managed, grace time.Duration) {
	m.busy = true
	s.Loop.Aside(ctx, func() func() {
		err := s.Launcher.Stop(ctx, m.unit, grace)
		return func() {
			_, ended := m.done(m.incarnation)
			m.running = m.running && err != nil && !ended
			if err != nil {
				s.failed(m, "stopped", err)
			}
		}
	})
}

// remove ends a unit that has left the clan and forgets its state. Without a notifier
// the position of the last notice goes as well: the next notifier begins with recent
// events.
func (s *Supervisor) remove(ctx context.Context, m *managed) {
	m.busy = true
	s.Loop.Aside(ctx, func() func() {
		err := s.Launcher.Stop(ctx, m.unit, m.grace)
		stopped := err == nil
		if stopped && m.unit == runtime.ComponentNotifier {
			err = s.ForgetNotified(ctx)
		}
		return func() {
			_, ended := m.done(m.incarnation)
			m.running = m.running && !stopped && !ended
			if err != nil {
				s.failed(m, "stopped", err)
				return
			}
			delete(s.units, m.unit)
			s.Metrics.Forget(m.agent)
		}
	})
}

// failed puts off an operation that did not succeed.
func (s *Supervisor) failed(m *managed, done string, err error) {
	s.delay(m)
	m.log.Error(m.noun+" not "+done, "error", err, "again_in", m.backoff.Last())
}

func (s *Supervisor) delay(m *managed) { m.due = s.Now().Add(m.backoff.Failed()) }

// unitEnded handles the exit of a managed unit: its grants fail or are retried, and
// the unit restarts.
func (s *Supervisor) unitEnded(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	agent, incarnation := l[runtime.LabelAgent], l[runtime.LabelIncarnation]
	m := s.units[e.Unit.Name]
	ours := m.is(incarnation) // else we end it, it is just being started, or it was removed
	switch {
	case ours:
		m.busy, m.running = true, false
	case m != nil && m.busy:
		m.exits = append(m.exits, e)
	}
	s.Loop.Aside(ctx, func() func() {
		planned := s.Stopping(ctx)
		if !planned && agent != "" {
			s.Orphans.Settle(ctx, e)
			s.goodbye(ctx, agent, incarnation, e)
		}
		s.Incarnations.forget(incarnation)
		if !ours {
			return nil
		}
		return func() {
			m.done("")
			s.again(m, e, planned)
		}
	})
}

// again schedules the restart of a unit that has ended: soon after a healthy run, and
// later each time otherwise, with any exit code.
func (s *Supervisor) again(m *managed, e runtime.Exit, planned bool) {
	m.due = time.Time{}
	if planned {
		return
	}
	if m.agent != "" {
		s.Metrics.Restarted(m.agent)
	}
	now := s.Now()
	m.due = now.Add(m.backoff.Ended(now.Sub(m.started)))
	m.log.Warn(m.noun+" ended", "incarnation", m.incarnation, "exit", e.Told(), "code", e.Code, "oom", e.OOM, "tail", e.Tail,
		"again_in", m.backoff.Last())
}
