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

// inspect looks at an instance, briefly; with detail also at what it does.
func (a *app) inspect(ctx context.Context, in *instance, detail bool) instanceRow {
	l := instanceRow{
		Name: in.Name, Workspace: in.Workspace, Runtime: in.Runtime, CreatedAt: in.CreatedAt, State: stateStopped,
		NotReady: []string{}, Down: []string{}, Paused: []string{}, Restarting: []string{}, Known: in.known(), in: in, host: in.Host,
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
	if l.State == stateStopped || !l.Known { // or nobody here has its blackboard's password
		return l
	}
	if err = l.ask(ctx, a, running, cfg, units, detail); err == nil {
		return l
	}
	l.silent = true
	if !slices.Contains(l.Restarting, runtime.ComponentBlackboard) {
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
	r.Restarting = append(r.Restarting, in.returning(units)...)
	if len(running)+len(r.Restarting) == 0 {
		return running
	}
	r.State = stateRunning
	if len(r.Restarting) > 0 {
		r.State = stateDegraded
	}
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
		if _, ok := running[part]; ok || slices.Contains(r.Restarting, part) {
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

// ask asks the blackboard.
func (r *instanceRow) ask(ctx context.Context, a *app, running map[string]runtime.Unit, c *config.Config, units []runtime.Unit, detail bool) error {
	b, err := redis.Open(ctx, redis.Options{
		URL: r.in.URL, Instance: r.in.Name, Name: "sett-list", Timeout: time.Second, Retries: -1, CAFile: a.Getenv(env.RedisCAFile),
	})
	if err != nil {
		return err
	}
	defer b.Close()
	if err := r.read(ctx, b, running, c); err != nil || !detail {
		return err
	}
	return r.detail(ctx, a, b, c, units)
}

// read reads how things stand, by the parts that run.
func (r *instanceRow) read(ctx context.Context, b *redis.Board, running map[string]runtime.Unit, c *config.Config) error {
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
	return err
}
