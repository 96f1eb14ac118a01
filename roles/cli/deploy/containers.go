package deploy

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// containerLauncher starts an instance as containers: the blackboard and the orchestrator,
// which the engine keeps running, and which keeps the agents running. An orchestrator on
// the host is kept by the keeper.
type containerLauncher struct {
	j         *job
	engine    *containerEngine
	workspace workspaceFacts
	control   containerImage // this sett
	brain     program        // the orchestrator
	redis     containerImage
}

// noDocker is the way out without an engine.
const noDocker = "sett up --runtime process runs the agents as processes of this machine, isolated by nothing"

// newLauncher returns the launcher of the configured runtime, and the workspaces of the
// instances that the engine has, by name: those names are taken.
func newLauncher(ctx context.Context, j *job, root string) (launcher, map[string]string, error) {
	if j.c.Runtime != config.RuntimeDocker {
		return &processLauncher{j}, nil, nil
	}
	l := &containerLauncher{j: j}
	var err error
	if l.engine, err = j.at.Engine(ctx); err != nil {
		var e *role.Error
		if errors.As(err, &e) && role.CodeOf(err) == role.Environment {
			hint := noDocker
			if e.Hint != "" {
				hint = e.Hint + " — or " + hint
			}
			return nil, nil, role.Fail(role.Environment, e.Err, "%s", hint)
		}
		return nil, nil, err
	}
	if err := Reachable(l.engine.Endpoint(), j.c); err != nil {
		return nil, nil, err
	}
	if l.workspace, err = Survey(ctx, j.at.Env, l.engine, root, j.c.Notify != nil); err != nil {
		return nil, nil, err
	}
	all, err := engineInstances(ctx, l.engine)
	if err != nil {
		return nil, nil, fmt.Errorf("list what is on the engine: %w", err)
	}
	taken := map[string]string{}
	for _, o := range all {
		taken[o.Name] = o.Workspace
	}
	return l, taken, nil
}

// Reachable refuses a configuration with parts that could not reach each other.
func Reachable(at endpoint, c *config.Config) error {
	if at.Socket == "" && c.Orchestrator.Run != config.RunHost {
		return role.Fail(role.Usage, fmt.Errorf("the engine is reached at %s, and the orchestrator's container needs a unix socket", role.Clean(at.Host)),
			"orchestrator: {run: host} in %s, or --orchestrator host, runs it on this machine", instance.ConfigName)
	}
	if u, err := url.Parse(at.Host); at.Socket == "" && (err != nil || !config.Loopback(u.Hostname())) {
		return role.Fail(role.Environment, fmt.Errorf("the engine at %s is another machine's: it can see neither this workspace nor the other way round", role.Clean(at.Host)),
			"use an engine of this machine, or "+noDocker)
	}
	if c.Redis.URL == "" {
		return nil
	}
	if u, err := url.Parse(c.Redis.URL); err == nil && slices.ContainsFunc(hosts(u), config.Loopback) {
		return role.Fail(role.Usage, fmt.Errorf("redis.url is %s, which in a container is the container itself", role.Clean(instance.Redact(c.Redis.URL))),
			"name an address of this machine that its containers reach, or leave redis.url out and Sett starts one")
	}
	for _, agent := range c.Agents {
		if agent.Network == config.NetworkInternal {
			return role.Fail(role.Usage, fmt.Errorf("agent %s has network: internal, from where redis.url (%s) cannot be reached", agent.Name, role.Clean(instance.Redact(c.Redis.URL))),
				"leave redis.url out and Sett starts one inside, or let the agent have network: full, or none for its tool")
		}
	}
	return nil
}

func (l *containerLauncher) owner() (uid, gid int) { return l.workspace.uid, l.workspace.gid }

func (l *containerLauncher) embedded() bool { return l.j.c.Services.Redis.Embedded }

func (l *containerLauncher) containers() *instance.Containers {
	return l.j.place.(*instance.Containers)
} //nolint:forcetypeassert // its launcher made it so

// materials gets the images and the volumes of the binary. Without create, a preview of the
// engine says which there are.
func (l *containerLauncher) materials(ctx context.Context, f *facts, create bool) (release func(), err error) {
	m := &materials{l: l, supply: newStore(l.engine), volumes: map[string]string{}}
	if create {
		m.probe, m.rights = newStore(l.engine).HasProgram, f.rights
		err = m.get(ctx)
	} else {
		err = l.look(ctx, f, m)
	}
	if err != nil {
		m.release()
		return nil, err
	}
	f.engine.built = create
	f.engine.control, f.engine.brain = l.control.Ref, l.brain.id()
	return m.release, nil
}

// look adds the facts about the engine.
func (l *containerLauncher) look(ctx context.Context, f *facts, m *materials) error {
	names := namesOf(l.engine, l.j.in.Name)
	preview := newStore(l.engine).Preview()
	f.engine = &engineFacts{names: names, present: map[string]bool{}}
	for _, s := range l.engine.Shortfalls() {
		f.engine.notices = append(f.engine.notices, role.Clean(s.Sentence))
	}
	for _, s := range l.workspace.Notes {
		f.engine.notices = append(f.engine.notices, role.Clean(s))
	}
	type look struct {
		name string
		has  func(context.Context, string) (bool, error)
	}
	looks := []look{
		{names.Network(runtime.NetworkFull), l.engine.HasNetwork}, {names.Network(runtime.NetworkInternal), l.engine.HasNetwork},
		{names.LedgerVolume(), l.engine.HasVolume}, {names.ControlVolume(), l.engine.HasVolume},
	}
	found, errs := make([]bool, len(looks)), make([]error, len(looks))
	var all sync.WaitGroup
	for i, look := range looks {
		all.Go(func() { found[i], errs[i] = look.has(ctx, look.name) })
	}
	all.Wait()
	for i, look := range looks {
		f.engine.present[look.name] = found[i]
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	m.supply = preview
	err := m.get(ctx)
	f.engine.foresee(preview.Foreseen())
	var missing *missingError
	if errors.As(m.unobtainable, &missing) {
		f.engine.missing, err = err, nil
	}
	return err
}

// foresee notes the images and volumes that the preview was asked for.
func (e *engineFacts) foresee(images, volumes []foreseen) {
	e.images = []PlannedImage{}
	for _, f := range images {
		i := PlannedImage{For: f.Name, Image: f.Ref, Action: f.Action}
		for _, base := range f.Base {
			if base.Present {
				i.Bases = append(i.Bases, base.Ref)
			} else {
				i.Pulls = append(i.Pulls, base.Ref)
			}
		}
		e.images = append(e.images, i)
	}
	for _, f := range volumes {
		e.volumes = append(e.volumes, PlannedThing{f.Ref, f.Action})
	}
}

// launch starts the containers of the orchestrator and of the blackboard at the same time:
// each takes the engine most of a second on a busy machine, and the one waits for the other. In a running
// instance it comes after the blackboard, which has to hear of new agents first.
func (l *containerLauncher) launch(ctx context.Context, serve func(context.Context, *runtime.Unit) error) (err error) {
	in, fresh := l.j.in, l.j.plan.Action != actionApply
	ahead := func() error { return nil }
	early := fresh && !in.External && !in.Host && l.j.certain && !instance.IsCutOff(in) // else it would take stopped cubs for dead ones
	if early {
		ahead = l.ahead(ctx)
		defer func() {
			if err != nil {
				_ = ahead() // a container that it starts has to be found and stopped
			}
		}()
	}
	var board *runtime.Unit
	if !in.External {
		unit, err := l.renewBlackboard(ctx)
		if err != nil {
			return fmt.Errorf("start blackboard: %w", err)
		}
		board = &unit
	}
	if err := serve(ctx, board); err != nil {
		return err
	}
	if !fresh {
		if err := l.update(ctx); err != nil {
			return err
		}
	}
	if err := ahead(); err != nil {
		return err
	}
	return l.startOrchestrator(ctx, early)
}

// ahead begins to start the orchestrator's container. The function that it returns waits
// for the end of that, and can be called again.
func (l *containerLauncher) ahead(ctx context.Context) (wait func() error) {
	spec := l.orchestratorSpec()
	done := make(chan error, 1)
	go func() { done <- l.startControl(ctx, spec) }()
	return sync.OnceValue(func() error { return <-done })
}

// renewBlackboard starts the blackboard's container. One of another version gives way to it: its volume keeps what it holds,
// and all others come back to it. An interruption in between does not leave the instance without one.
func (l *containerLauncher) renewBlackboard(ctx context.Context) (runtime.Unit, error) {
	if !l.j.plan.renewsBoard() {
		return l.startBlackboard(ctx)
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if err := l.j.place.Stop(whole, runtime.ComponentBlackboard, orchestratorGrace); err != nil {
		return runtime.Unit{}, err
	}
	return l.startBlackboard(whole)
}

// startBlackboard starts the blackboard's container, at another port if another program
// was faster.
func (l *containerLauncher) startBlackboard(ctx context.Context) (runtime.Unit, error) {
	for range portTries {
		unit, err := l.j.place.Start(ctx, l.blackboardSpec())
		if !errors.Is(err, errPort) {
			return unit, err
		}
		if err := l.j.takePort("127.0.0.1:0", l.j.in.Admin()); err != nil {
			return unit, err
		}
		if err := l.j.in.Save(); err != nil {
			return unit, err
		}
	}
	return runtime.Unit{}, role.Fail(role.Environment, errNoPort, "sett up again")
}

// update hands the changes to the containers that run, and stops an orchestrator of
// another version.
func (l *containerLauncher) update(ctx context.Context) error {
	c := l.j.plan.Changes
	if l.ownUsers() && (len(c.Added)+len(c.Removed) > 0 || c.Notify || l.j.plan.replaces()) {
		if err := l.updateUsers(ctx); err != nil {
			return err
		}
	}
	switch {
	case l.j.in.Host:
		return nil
	case !l.j.plan.replaces():
		if err := l.containers().Write(ctx, runtime.ComponentOrchestrator, []runtime.File{l.configFile()}); err != nil {
			return fmt.Errorf("hand over the configuration: %w", err)
		}
		return nil
	}
	if err := l.j.place.Gather(ctx); err != nil {
		return err
	}
	if err := l.j.place.Stop(ctx, runtime.ComponentOrchestrator, orchestratorGrace); err != nil {
		return err
	}
	return l.j.chooseHealth()
}

// updateUsers tells Redis of agents, or a notifier, that came and went, and of the rights that another sett gives.
func (l *containerLauncher) updateUsers(ctx context.Context) error {
	if err := l.containers().Write(ctx, runtime.ComponentBlackboard, []runtime.File{l.usersFile()}); err != nil {
		return fmt.Errorf("hand over the agents' passwords: %w", err)
	}
	if err := l.j.board.Control.ReloadACL(ctx); err != nil {
		return err
	}
	l.j.board.Close() // Redis before 7.2 has cut it off in any case
	return l.j.connect(ctx, nil)
}

// startOrchestrator starts the orchestrator's container, or the keeper that starts it as
// a process. A container that was started ahead may have read that the instance is being
// stopped, and is told now.
func (l *containerLauncher) startOrchestrator(ctx context.Context, started bool) error {
	in := l.j.in
	var err error
	switch {
	case in.Host:
		_, err = l.j.place.Start(ctx, l.keeperSpec())
	case started:
		err = l.j.board.Control.Nudge(ctx)
	default:
		err = l.startControl(ctx, l.orchestratorSpec())
	}
	moved := in.SettleHealth()
	if err != nil || in.Control == l.brain.id() && !moved {
		return err
	}
	in.Control = l.brain.id()
	return in.Save()
}

// startControl starts the orchestrator's container, in place of one that has ended.
func (l *containerLauncher) startControl(ctx context.Context, spec runtime.Spec) error {
	if err := l.freshControl(ctx); err != nil {
		return err
	}
	return l.startPublished(ctx, spec)
}

// freshControl brings home the logs of an orchestrator that has ended, and removes it: a
// new one begins with a volume of its own.
func (l *containerLauncher) freshControl(ctx context.Context) error {
	units, err := l.j.place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentOrchestrator})
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if len(units) == 0 || units[0].Running {
		return nil
	}
	if err := l.j.place.Gather(ctx); err != nil {
		l.j.at.Sayf("sett: warning: %v\n", err)
	}
	if err := l.j.place.Stop(ctx, runtime.ComponentOrchestrator, 0); err != nil {
		return err
	}
	return l.containers().RemoveControl(ctx)
}

// startPublished starts the orchestrator's container, at another port of this machine if
// another program was faster. Other code may read and write the state at the same time,
// so that the new port waits in the instance until startOrchestrator.
func (l *containerLauncher) startPublished(ctx context.Context, spec runtime.Spec) error {
	for range portTries {
		_, err := l.j.place.Start(ctx, spec)
		if !errors.Is(err, errPort) {
			return err
		}
		if spec.Container.Publish, err = l.j.in.MoveHealth(spec.Container.Publish); err != nil {
			return err
		}
	}
	return role.Fail(role.Environment, errNoPort, "sett up again")
}
