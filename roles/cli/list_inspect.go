package cli

import (
	"context"
	"slices"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// inspect looks at an instance, briefly.
func (a *app) inspect(ctx context.Context, in *instance) instanceRow {
	return a.inspectAll(ctx, in, false)
}

// inspectAll looks at an instance, with detail also at what it does.
func (a *app) inspectAll(ctx context.Context, in *instance, detail bool) instanceRow {
	l := instanceRow{
		Name: in.Name, Workspace: in.Workspace, Runtime: in.Runtime, CreatedAt: in.CreatedAt, State: stateStopped,
		NotReady: []string{}, Down: []string{}, Paused: []string{}, Known: in.known(), host: in.Host,
	}
	cfg, err := in.config()
	if err != nil && l.Known {
		return l
	}
	if err != nil {
		cfg = &config.Config{}
	}
	l.Agents = len(cfg.Agents)
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	place, err := a.place(ctx, in)
	var units []runtime.Unit
	if err == nil {
		units, err = place.List(ctx, nil)
	}
	if err != nil {
		l.State, l.why = stateUnreachable, err
		return l
	}
	running := l.look(in, cfg, units)
	if len(running) == 0 || !l.Known { // or nobody here has its blackboard's password
		return l
	}
	var all []runtime.Unit // nil: without detail
	if detail {
		all = units
	}
	if err := l.read(ctx, a, in, running, cfg, all); err != nil {
		l.State = stateUnreachable
		if len(l.Down)+len(l.Paused) == 0 { // they say enough
			l.why = err
		}
	}
	return l
}

// look goes by the units that there are; it returns those that run, by name.
func (r *instanceRow) look(in *instance, c *config.Config, units []runtime.Unit) map[string]runtime.Unit {
	running := map[string]runtime.Unit{}
	for _, u := range units {
		if u.Running {
			running[u.Name] = u
		}
		if u.Paused {
			r.Paused = append(r.Paused, u.Name)
		}
	}
	if len(running) == 0 {
		return running
	}
	r.State = stateRunning
	if _, ok := running[runtime.ComponentOrchestrator]; ok {
		r.HealthURL = in.healthURL()
	}
	if len(r.Paused) > 0 {
		r.State = stateDegraded
	}
	parts := in.parts()
	if c.Notify != nil {
		parts = append(parts, runtime.ComponentNotifier)
	}
	for _, part := range parts {
		if _, ok := running[part]; ok {
			continue
		}
		r.Down, r.State = append(r.Down, part), stateDegraded
		// What has ended is started again; a container that was removed is not.
		made := slices.ContainsFunc(units, func(u runtime.Unit) bool { return u.Name == part })
		r.lost = r.lost || !made && in.Runtime == config.RuntimeDocker && part != runtime.ComponentNotifier &&
			(!in.Host || part == runtime.ComponentBlackboard)
	}
	return running
}

// parts are the units that an instance has to have, besides its agents and what
// notifies people.
func (in *instance) parts() []string {
	parts := []string{runtime.ComponentOrchestrator}
	if !in.External {
		parts = append([]string{runtime.ComponentBlackboard}, parts...)
	}
	if in.Runtime != config.RuntimeDocker || in.Host {
		parts = append(parts, runtime.ComponentKeeper)
	}
	return parts
}

// read asks the blackboard; with all the units that there are, also for details.
func (r *instanceRow) read(ctx context.Context, a *app, in *instance, running map[string]runtime.Unit, c *config.Config, all []runtime.Unit) error {
	b, err := redis.Open(ctx, redis.Options{
		URL: in.URL, Instance: in.Name, Name: "sett-list", Timeout: time.Second, Retries: -1, CAFile: a.Getenv(env.RedisCAFile),
	})
	if err != nil {
		return err
	}
	defer b.Close()
	present, err := b.Agents(ctx)
	if err != nil {
		return err
	}
	now, err := b.ServerTime(ctx)
	if err != nil {
		return err
	}
	for _, name := range c.Names() {
		if unit, ok := running[runtime.AgentUnit(name)]; ok && isPresent(present[name], unit, now) {
			r.Ready++
			continue
		}
		r.NotReady, r.State = append(r.NotReady, name), stateDegraded
	}
	claims, err := b.OpenClaims(ctx)
	if err != nil {
		return err
	}
	questions, gates, err := openMatters(ctx, b)
	r.Claims, r.Questions, r.Gates = len(claims), len(questions), len(gates)
	if err != nil || all == nil {
		return err
	}
	return r.detail(ctx, a, b, in, c, all)
}
