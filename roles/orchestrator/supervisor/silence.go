package supervisor

import (
	"context"
	"sync"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// Roster reads the heartbeats of agents and workers.
type Roster interface {
	Agents(ctx context.Context) (map[string]blackboard.Presence, error)
	Workers(ctx context.Context, agent string) (map[string]blackboard.Worker, error)
}

// lookForSilent ends units that run without a heartbeat for long: hung, frozen or cut
// off. Their exits are handled like any other.
func (s *Supervisor) lookForSilent(ctx context.Context) {
	var suspects []runtime.Unit
	for _, u := range s.Workers.Units() {
		if u.Running {
			suspects = append(suspects, u)
		}
	}
	for _, m := range s.units {
		if m.agent != "" && m.running && !m.busy { // the notifier has no heartbeat
			suspects = append(suspects, runtime.Unit{Name: m.unit, StartedAt: m.started, Labels: runtime.Labels{
				runtime.LabelAgent: m.agent, runtime.LabelIncarnation: m.incarnation, runtime.LabelComponent: runtime.ComponentAgent}})
		}
	}
	if len(suspects) == 0 {
		return
	}
	s.Loop.Aside(ctx, func() func() {
		silent := s.silent(ctx, suspects)
		if len(silent) == 0 || s.Stopping(ctx) {
			return nil
		}
		return func() {
			for _, u := range silent {
				s.endUnwell(ctx, u, "silent for "+s.Pace.SilentAfter.String())
			}
		}
	})
}

// endUnwell ends a unit unless it was replaced since it was suspected.
func (s *Supervisor) endUnwell(ctx context.Context, u runtime.Unit, why string) {
	agent, incarnation := u.Labels[runtime.LabelAgent], u.Labels[runtime.LabelIncarnation]
	log := s.Log.With("agent", agent, "incarnation", incarnation, "reason", why)
	if u.Labels[runtime.LabelComponent] == runtime.ComponentWorker {
		log.Error("worker is not well, ending it", "unit", u.Name)
		s.endWorker(ctx, u, why)
		return
	}
	if m := s.of(agent); m.is(incarnation) {
		log.Error("agent is not well, ending it")
		s.Incarnations.condemn(incarnation, why)
		s.delay(m)
		s.stop(ctx, m, 0)
	}
}

// EndAgent ends all units of an agent at once. They are started again.
func (s *Supervisor) EndAgent(ctx context.Context, agent, why string) {
	s.Loop.Aside(ctx, func() func() {
		return func() {
			if m := s.of(agent); m != nil {
				s.endUnwell(ctx, runtime.Unit{Name: m.unit, Labels: runtime.Labels{
					runtime.LabelAgent: agent, runtime.LabelIncarnation: m.incarnation}}, why)
			}
			for _, u := range s.Workers.Retire(agent) {
				s.endWorker(ctx, u, why)
			}
		}
	})
}

// pulse is the last heartbeat of an incarnation that this orchestrator saw. Its stamp is
// the blackboard's and is only compared with other stamps, until is by our clock.
type pulse struct {
	stamp, until time.Time
}

// pulses are the heartbeats that were seen. One look at a time uses them.
type pulses struct {
	looking sync.Mutex
	seen    map[string]pulse // by incarnation
	looked  time.Time        // the last look
	watched time.Time        // since when the looks have followed each other
}

// silent returns the suspects without a heartbeat since the blackboard and this
// orchestrator have been there to see one. A heartbeat is seen when its stamp is another
// one: from then on our own clock measures, whatever happens to the blackboard's.
func (s *Supervisor) silent(ctx context.Context, suspects []runtime.Unit) (out []runtime.Unit) {
	s.pulses.looking.Lock()
	defer s.pulses.looking.Unlock()
	steady := s.Steady()
	alive, workers, err := s.heartbeats(ctx, suspects)
	if steady.IsZero() || err != nil {
		return nil
	}
	server, err := s.ServerTime(ctx)
	if err != nil {
		return nil
	}
	now := s.Now()
	if now.Sub(s.pulses.looked) > s.Pace.SilentAfter { // this process stood still itself
		s.pulses.watched = now
	}
	seen := map[string]pulse{}
	for incarnation, stamp := range alive {
		p, known := s.pulses.seen[incarnation]
		if !known || !p.stamp.Equal(stamp) {
			p = pulse{stamp, now.Add(min(max(stamp.Sub(server), 0), s.Pace.Promise))}
		}
		seen[incarnation] = p
	}
	heard := func(incarnation string) time.Time {
		p, known := seen[incarnation]
		if !known { // it has said nothing yet
			if p, known = s.pulses.seen[incarnation]; !known {
				p = pulse{until: now}
			}
			seen[incarnation] = p
		}
		return latest(steady, s.Since, s.pulses.watched, p.until)
	}
	for _, u := range suspects {
		if now.Sub(heard(u.Labels[runtime.LabelIncarnation])) > s.Pace.SilentAfter {
			out = append(out, u)
		}
	}
	for incarnation, agent := range workers {
		if now.Sub(heard(incarnation)) <= s.Pace.SilentAfter {
			continue
		}
		if _, gone := s.Incarnations.gone(incarnation, now.Add(-s.Pace.SilentAfter)); gone {
			_ = s.ForgetWorker(ctx, agent, incarnation) // its unit is unknown; on an error the next look repeats it
		}
	}
	s.pulses.seen, s.pulses.looked = seen, now
	return out
}

// heartbeats returns until when each incarnation said it was alive, by the blackboard's
// clock, and the workers' agents.
func (s *Supervisor) heartbeats(ctx context.Context, suspects []runtime.Unit) (alive map[string]time.Time, workers map[string]string, err error) {
	alive, workers = map[string]time.Time{}, map[string]string{}
	present, err := s.Roster.Agents(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, p := range present {
		alive[p.Incarnation] = p.Alive
	}
	asked := map[string]bool{}
	for _, u := range suspects {
		agent := u.Labels[runtime.LabelAgent]
		if u.Labels[runtime.LabelComponent] != runtime.ComponentWorker || asked[agent] {
			continue
		}
		asked[agent] = true
		all, err := s.Roster.Workers(ctx, agent)
		if err != nil {
			return nil, nil, err
		}
		for incarnation, w := range all {
			alive[incarnation], workers[incarnation] = w.Alive, agent
		}
	}
	return alive, workers, nil
}

func latest(times ...time.Time) (last time.Time) {
	for _, t := range times {
		if t.After(last) {
			last = t
		}
	}
	return last
}
