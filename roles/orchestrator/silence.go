package orchestrator

import (
	"context"
	"time"
)

// suspect is a unit that should be heard of.
type suspect struct {
	agent, incarnation string
	worker             string // its unit; empty: it is the agent's own
	started            time.Time
}

// lookForSilent ends units that run but have not been heard of for long: hung,
// frozen or cut off. What follows is what follows any end.
func (a *agents) lookForSilent(ctx context.Context) {
	suspects := a.workers.suspects()
	for _, k := range a.kept {
		if k.agent != "" && k.running && !k.busy { // of the notifier there is no heartbeat
			suspects = append(suspects, suspect{agent: k.agent, incarnation: k.incarnation, started: k.started})
		}
	}
	if len(suspects) == 0 {
		return
	}
	a.aside(ctx, func() func() {
		silent := a.silent(ctx, suspects)
		if len(silent) == 0 || a.stopping(ctx) {
			return nil
		}
		return func() {
			for _, q := range silent {
				a.endSilent(ctx, q, "silent for "+a.pace.silentAfter.String())
			}
		}
	})
}

// endSilent ends a unit that still is what it was when it was suspected.
func (a *agents) endSilent(ctx context.Context, q suspect, why string) {
	log := a.log.With("agent", q.agent, "incarnation", q.incarnation, "reason", why)
	if q.worker != "" {
		log.Error("worker is not well, ending it", "unit", q.worker)
		a.why[q.incarnation] = why
		a.workers.end(ctx, q.worker)
		return
	}
	if k := a.of(q.agent); k.is(q.incarnation) {
		log.Error("agent is not well, ending it")
		a.why[q.incarnation] = why
		a.delay(k)
		a.stop(ctx, k, 0)
	}
}

// silent returns those that have not been heard of since the blackboard and we
// have been there to hear them. Nobody is ended on the word of our own clock
// alone: heartbeats are by the blackboard's, and ours may be wrong.
func (a *agents) silent(ctx context.Context, suspects []suspect) (out []suspect) {
	steady := a.reachable.SteadySince()
	alive, err := a.heartbeats(ctx, suspects)
	if steady.IsZero() || err != nil {
		return nil
	}
	var server time.Time
	now := a.env.Now()
	for _, q := range suspects {
		heard := latest(latest(latest(steady, a.since), q.started), alive[q.incarnation])
		if now.Sub(heard) <= a.pace.silentAfter {
			continue
		}
		if server.IsZero() {
			if server, err = a.board.ServerTime(ctx); err != nil {
				return nil
			}
		}
		if server.Sub(heard) > a.pace.silentAfter {
			out = append(out, q)
		}
	}
	return out
}

// heartbeats returns until when each incarnation said it was alive.
func (a *agents) heartbeats(ctx context.Context, suspects []suspect) (map[string]time.Time, error) {
	alive, asked := map[string]time.Time{}, map[string]bool{}
	present, err := a.board.Agents(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range present {
		alive[p.Incarnation] = p.Alive
	}
	for _, q := range suspects {
		if q.worker == "" || asked[q.agent] {
			continue
		}
		asked[q.agent] = true
		workers, err := a.board.Workers(ctx, q.agent)
		if err != nil {
			return nil, err
		}
		for incarnation, w := range workers {
			alive[incarnation] = w.Alive
			if now := a.env.Now(); now.Sub(w.Alive) > a.pace.silentAfter && a.living.gone(incarnation, now.Add(-a.pace.silentAfter)) {
				_ = a.board.ForgetWorker(ctx, q.agent, incarnation) // of a unit that nobody knows; else the next look does
			}
		}
	}
	return alive, nil
}

// suspects returns the pool's units, but those that are only just being started.
func (w *workers) suspects() (out []suspect) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, j := range w.running {
		if j.incarnation != "" && !j.started.IsZero() {
			out = append(out, suspect{j.agent, j.incarnation, j.unit, j.started})
		}
	}
	for _, s := range w.warm {
		if !s.started.IsZero() && s.stopAgain.IsZero() {
			out = append(out, suspect{s.agent, s.incarnation, s.unit, s.started})
		}
	}
	return out
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
