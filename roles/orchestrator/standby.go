package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// standby is a worker that was started before there was a claim for it, and waits.
// Which one it is for then stands on the blackboard, since a unit's labels cannot
// change.
type standby struct {
	unit, agent, incarnation, digest string
	started                          time.Time // zero: it is only just being started
	stopAgain                        time.Time
	taken                            bool // it is being given a claim, or being stopped
}

// task is what a worker is for.
type task struct {
	claim   string
	attempt int
}

// pauses between standbys of an agent that end for nothing.
type pauses struct {
	wait time.Duration
	next time.Time // not before then is one started
}

// assigned reads what the standbys among the units were given, by incarnation.
func (a *agents) assigned(ctx context.Context, units []runtime.Unit) (map[string]task, error) {
	tasks, seen := map[string]task{}, map[string]bool{}
	for _, u := range units {
		l := u.Labels
		agent := l[runtime.LabelAgent]
		if l[runtime.LabelComponent] != runtime.ComponentWorker || l[runtime.LabelClaim] != "" || seen[agent] {
			continue
		}
		seen[agent] = true
		for {
			known, err := a.board.Workers(ctx, agent)
			if err == nil {
				for incarnation, w := range known {
					tasks[incarnation] = task{w.Claim, w.Attempt}
				}
				break
			}
			if !errors.Is(err, blackboard.ErrUnavailable) || ctx.Err() != nil {
				return nil, fmt.Errorf("read workers of %s: %w", agent, err)
			}
			select {
			case <-ctx.Done():
			case <-time.After(buryAgain):
			}
		}
	}
	return tasks, nil
}

// hand gives a job to a worker that waits, if there is one.
func (w *workers) hand(ctx context.Context, j *job) bool {
	agent, member := w.clan.get().Agent(j.agent)
	if !member {
		return false
	}
	s := w.take(agent)
	if s == nil {
		return false
	}
	w.started(j, s.unit, s.incarnation, w.env.Now()) // before it can end: whose end that is
	err := w.board.Assign(ctx, w.lead.Epoch, j.agent, s.incarnation, j.claim, j.attempt)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err != nil { // it was not ready, or the grant is not to be had: a fresh start finds out
		s.taken = false
		j.unit, j.incarnation, j.started = j.name, "", time.Time{}
		w.log.Debug("worker not assigned", "agent", j.agent, "claim", j.claim, "unit", s.unit, "error", err)
		return false
	}
	delete(w.warm, s.unit)
	w.log.Info("worker assigned", "agent", j.agent, "claim", j.claim, "attempt", j.attempt, "unit", s.unit)
	w.agents.wake() // another one is to wait
	return true
}

// take reserves the standby of an agent that has waited longest.
func (w *workers) take(agent config.Agent) *standby {
	digest := agent.Digest()
	w.mu.Lock()
	defer w.mu.Unlock()
	var oldest *standby
	for _, unit := range slices.Sorted(maps.Keys(w.warm)) {
		s := w.warm[unit]
		if s.agent != agent.Name || s.digest != digest || s.taken || s.started.IsZero() {
			continue
		}
		if oldest == nil || s.started.Before(oldest.started) {
			oldest = s
		}
	}
	if oldest != nil {
		oldest.taken = true
	}
	return oldest
}

// surplus returns the standbys to stop: of agents that have changed or left, and
// more than are wanted. The caller holds the lock.
func (w *workers) surplus(cfg *config.Config, now time.Time) (units []string) {
	kept := map[string]int{}
	for _, unit := range slices.Sorted(maps.Keys(w.warm)) {
		s := w.warm[unit]
		agent, member := cfg.Agent(s.agent)
		switch {
		case s.stopAgain.IsZero() && member && agent.Fresh() && s.digest == agent.Digest() && kept[s.agent] < agent.Warm:
			kept[s.agent]++
		case s.taken && s.stopAgain.IsZero() || s.started.IsZero() || now.Before(s.stopAgain):
		default:
			s.taken, s.stopAgain = true, now.Add(2*unknownGrace)
			units = append(units, unit)
		}
	}
	return units
}

// fill begins to start as many standbys as are missing. It returns when to look
// again, where that is known.
func (w *workers) fill(ctx context.Context) (next time.Time) {
	now := w.env.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, agent := range w.clan.get().Agents {
		if agent.Warm == 0 || !agent.Fresh() {
			continue
		}
		if p := w.pauses[agent.Name]; p != nil && now.Before(p.next) {
			if next.IsZero() || p.next.Before(next) {
				next = p.next
			}
			continue
		}
		digest, have := agent.Digest(), 0
		for _, s := range w.warm {
			if s.agent == agent.Name && s.digest == digest && s.stopAgain.IsZero() {
				have++
			}
		}
		for ; have < agent.Warm; have++ {
			w.wait(ctx, agent, digest)
		}
	}
	return next
}

// wait begins to start one standby. The caller holds the lock.
func (w *workers) wait(ctx context.Context, agent config.Agent, digest string) {
	spec, err := w.spec(agent, runtime.ComponentWorker)
	if err != nil {
		w.log.Error("standby not started", "agent", agent.Name, "error", err)
		return
	}
	s := &standby{agent: agent.Name, incarnation: spec.Labels[runtime.LabelIncarnation], digest: digest}
	s.unit = standbyName(agent.Name, strings.ToLower(s.incarnation))
	spec.Name, spec.Args = s.unit, append(spec.Args, "--standby")
	w.warm[s.unit] = s
	w.agents.aside(ctx, func() func() {
		var err error
		if w.stopping(ctx) {
			err = blackboard.ErrStopping
		} else {
			_, err = w.agents.launch(ctx, agent, spec)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if err != nil {
			delete(w.warm, s.unit)
			w.putOff(agent.Name)
			if !errors.Is(err, blackboard.ErrStopping) {
				w.log.Error("standby not started", "agent", agent.Name, "error", err, "again_in", w.pauses[agent.Name].wait)
			}
			return func() {}
		}
		s.started = w.env.Now()
		w.log.Info("standby started", "agent", agent.Name, "unit", s.unit)
		return func() {} // a job may wait for it
	})
}

// putOff has an agent's next standby wait. The caller holds the lock.
func (w *workers) putOff(agent string) {
	p := w.pauses[agent]
	if p == nil {
		p = &pauses{}
		w.pauses[agent] = p
	}
	p.wait = min(max(2*p.wait, w.pace.shortestBackoff), w.pace.longestBackoff)
	p.next = w.env.Now().Add(p.wait)
}

// standbyEnded deals with a standby that ended without having been given anything.
func (w *workers) standbyEnded(ctx context.Context, e runtime.Exit) {
	agent := e.Unit.Labels[runtime.LabelAgent]
	w.mu.Lock()
	s := w.warm[e.Unit.Name]
	delete(w.warm, e.Unit.Name)
	if s != nil && s.stopAgain.IsZero() { // nobody asked it to
		if w.env.Now().Sub(s.started) > w.pace.healthyAfter {
			delete(w.pauses, agent)
		}
		w.putOff(agent)
		w.log.Warn("standby ended", "agent", agent, "unit", e.Unit.Name, "exit", e.Text, "code", e.Code, "tail", e.Tail)
	}
	w.mu.Unlock()
	w.agents.aside(ctx, func() func() {
		if !w.stopping(ctx) {
			w.agents.bury(ctx, e) // it may have been given something that we do not know of
		}
		w.remove(ctx, e)
		return func() {}
	})
}

// stopAll ends all workers of an agent, whatever they do.
func (w *workers) stopAll(ctx context.Context, agent string) {
	w.mu.Lock()
	var units []string
	for _, j := range w.running {
		if j.agent == agent {
			units = append(units, j.unit)
			w.agents.why[j.incarnation] = "its network is gone"
		}
	}
	for _, s := range w.warm {
		if s.agent == agent { // and none of them is given what those others drop
			s.taken, s.stopAgain = true, w.env.Now().Add(2*unknownGrace)
			units = append(units, s.unit)
		}
	}
	w.mu.Unlock()
	for _, unit := range units {
		w.end(ctx, unit)
	}
}

// end stops a unit at once. What follows is what follows any end.
func (w *workers) end(ctx context.Context, unit string) {
	w.agents.aside(ctx, func() func() {
		if err := w.runtime.Stop(ctx, unit, 0); err != nil && ctx.Err() == nil {
			w.log.Error("worker not stopped", "unit", unit, "error", err)
		}
		return nil
	})
}
