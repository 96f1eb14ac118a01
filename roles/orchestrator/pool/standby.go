package pool

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/runtime"
)

// standby is a worker that was started before there was a claim for it, and waits. Its
// assignment is on the blackboard, since a unit's labels cannot change.
type standby struct {
	worker
	digest string
	taken  bool // it is being given a claim, or being stopped
}

// pause is the time between standbys of an agent that end without a claim.
type pause struct {
	backoff runtime.Backoff
	next    time.Time // none is started before then
}

func standbyName(agent, incarnation string) string {
	return "standby-" + agent + "-" + strings.ToLower(incarnation)
}

// hand gives a job to a worker that waits, if there is one.
func (p *Pool) hand(ctx context.Context, j *job) bool {
	agent, member := p.Config().Agent(j.agent)
	if !member {
		return false
	}
	s := p.take(agent)
	if s == nil {
		return false
	}
	p.started(j, worker{unit: s.unit, incarnation: s.incarnation, started: p.Now(), tree: s.tree}) // before its exit, which must find the job
	err := p.Board.Assign(ctx, p.Epoch, j.agent, s.incarnation, j.claim, j.attempt)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil { // the worker was not ready or the grant is gone: a fresh start finds out
		s.taken = false
		j.unit, j.incarnation, j.started, j.tree = j.name, "", time.Time{}, ""
		p.Log.Debug("worker not assigned", "agent", j.agent, "claim", j.claim, "unit", s.unit, "error", err)
		return false
	}
	delete(p.warm, s.unit)
	p.Log.Info("worker assigned", "agent", j.agent, "claim", j.claim, "attempt", j.attempt, "unit", s.unit)
	p.Loop.Wake() // another one is to wait
	return true
}

// take reserves the standby of an agent that has waited longest.
func (p *Pool) take(agent config.Agent) *standby {
	digest := agent.Digest()
	p.mu.Lock()
	defer p.mu.Unlock()
	var oldest *standby
	for _, unit := range slices.Sorted(maps.Keys(p.warm)) {
		s := p.warm[unit]
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

// surplus returns the standbys to stop: those of agents that have changed or left, and
// those beyond the wanted number. The caller holds the lock.
func (p *Pool) surplus(cfg *config.Config, now time.Time) (units []string) {
	wanted := map[string]int{}
	for _, unit := range slices.Sorted(maps.Keys(p.warm)) {
		s := p.warm[unit]
		agent, member := cfg.Agent(s.agent)
		switch {
		case s.stopAgain.IsZero() && member && agent.Fresh() && s.digest == agent.Digest() && wanted[s.agent] < agent.Warm:
			wanted[s.agent]++
		case s.taken && s.stopAgain.IsZero() || s.started.IsZero() || now.Before(s.stopAgain):
		default:
			s.taken, s.stopAgain = true, now.Add(2*unknownGrace)
			units = append(units, unit)
		}
	}
	return units
}

// fill begins to start the missing standbys. It returns the time of the next look, if
// that is known.
func (p *Pool) fill(ctx context.Context) (next time.Time) {
	now := p.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, agent := range p.Config().Agents {
		if agent.Warm == 0 || !agent.Fresh() {
			continue
		}
		if w := p.pauses[agent.Name]; w != nil && now.Before(w.next) {
			if next.IsZero() || w.next.Before(next) {
				next = w.next
			}
			continue
		}
		digest, have := agent.Digest(), 0
		for _, s := range p.warm {
			if s.agent == agent.Name && s.digest == digest && s.stopAgain.IsZero() {
				have++
			}
		}
		for ; have < agent.Warm; have++ {
			tree, free := p.freeTree(agent)
			if !free {
				break // a worker of before ends
			}
			p.startStandby(ctx, agent, digest, tree)
		}
	}
	return next
}

// startStandby begins to start one standby in that tree. The caller holds the lock.
func (p *Pool) startStandby(ctx context.Context, agent config.Agent, digest, tree string) {
	spec, err := p.Spec(agent, tree)
	if err != nil {
		p.Log.Error("standby not started", "agent", agent.Name, "error", err)
		return
	}
	s := &standby{worker: worker{agent: agent.Name, incarnation: spec.Labels[runtime.LabelIncarnation], tree: tree}, digest: digest}
	s.unit = standbyName(agent.Name, s.incarnation)
	spec.Name, spec.Args = s.unit, append(spec.Args, "--standby")
	p.warm[s.unit] = s
	p.Loop.Aside(ctx, func() func() {
		var err error
		if p.Stopping(ctx) {
			err = blackboard.ErrStopping
		} else {
			_, err = p.Launcher.Launch(ctx, agent, spec)
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if err != nil {
			delete(p.warm, s.unit)
			again := p.putOff(agent.Name, -1)
			if !errors.Is(err, blackboard.ErrStopping) {
				p.Log.Error("standby not started", "agent", agent.Name, "error", err, "again_in", again)
			}
			return func() {}
		}
		s.started = p.Now()
		p.Log.Info("standby started", "agent", agent.Name, "unit", s.unit)
		return func() {} // a job may wait for it
	})
}

// putOff has an agent's next standby wait after one that ran for so long, or did not
// start (negative), and returns the pause. The caller holds the lock.
func (p *Pool) putOff(agent string, ran time.Duration) time.Duration {
	w := p.pauses[agent]
	if w == nil {
		w = &pause{backoff: p.Backoff}
		p.pauses[agent] = w
	}
	again := w.backoff.Ended(ran)
	w.next = p.Now().Add(again)
	return again
}

// standbyEnded deals with a standby that ended without a claim.
func (p *Pool) standbyEnded(ctx context.Context, e runtime.Exit) {
	agent := e.Unit.Labels[runtime.LabelAgent]
	p.mu.Lock()
	s := p.warm[e.Unit.Name]
	delete(p.warm, e.Unit.Name)
	if s != nil && s.stopAgain.IsZero() { // we did not stop it
		p.putOff(agent, p.Now().Sub(s.started))
		p.Log.Warn("standby ended", "agent", agent, "unit", e.Unit.Name, "exit", e.Told(), "code", e.Code, "tail", e.Tail)
	}
	p.mu.Unlock()
	p.Loop.Aside(ctx, func() func() {
		if !p.Stopping(ctx) {
			p.Orphans.Settle(ctx, e) // another leader may have assigned it a claim
		}
		p.remove(ctx, e.Unit)
		return func() {}
	})
}
