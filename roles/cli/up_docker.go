package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
)

// containerLauncher launches an instance as containers: the blackboard and the
// orchestrator, which the engine keeps running, and which keeps the agents running.
// Where the orchestrator is to be a process, the keeper keeps that.
type containerLauncher struct {
	*upping
	engine  *docker.Engine
	supply  supply            // the engine's, unless nothing is to be made
	preview *docker.Preview   // nil: this is no dry run
	others  []docker.Instance // on the engine, when the up began
	ground  ground
	control docker.Image // this sett
	brain   program      // the orchestrator
	redis   docker.Image
	started bool     // the orchestrator was started ahead
	release []func() // of volumes that must not go before they are used
}

// program is how an image runs the sett binary.
type program struct {
	image      string // id
	entrypoint []string
	binary     string // volume with the binary; empty: entrypoint
}

// noDocker is what to do without an engine.
const noDocker = "sett up --runtime process runs the agents as processes of this machine, isolated by nothing"

// newContainerLauncher opens the engine and refuses what cannot work there.
func newContainerLauncher(ctx context.Context, u *upping, root string) (launcher, error) {
	l := &containerLauncher{upping: u}
	var err error
	if l.engine, err = u.a.engine(ctx); err != nil {
		var e *role.Error
		if errors.As(err, &e) && role.CodeOf(err) == role.Environment {
			hint := noDocker
			if e.Hint != "" {
				hint = e.Hint + " — or " + hint
			}
			return nil, role.Fail(role.Environment, e.Err, "%s", hint)
		}
		return nil, err
	}
	l.supply = l.engine
	if u.plan != nil {
		l.preview = l.engine.Preview()
		l.supply = l.preview
	}
	if err := l.reachable(); err != nil {
		return nil, err
	}
	if l.ground, err = u.a.survey(ctx, l.engine, root); err != nil {
		return nil, err
	}
	if l.others, err = l.engine.Instances(ctx); err != nil {
		return nil, fmt.Errorf("list what is on the engine: %w", err)
	}
	return l, nil
}

// reachable refuses what could not reach each other.
func (l *containerLauncher) reachable() error {
	at := l.engine.Endpoint()
	if at.Socket == "" && !l.onHost() {
		return role.Fail(role.Usage, fmt.Errorf("the engine is reached at %s, and the orchestrator's container needs a unix socket", clean(at.Host)),
			"orchestrator: {run: host} in %s, or --orchestrator host, runs it on this machine", configName)
	}
	if u, err := url.Parse(at.Host); at.Socket == "" && (err != nil || !loopback(u.Hostname())) {
		return role.Fail(role.Environment, fmt.Errorf("the engine at %s is another machine's: it can see neither this workspace nor the other way round", clean(at.Host)),
			"use an engine of this machine, or "+noDocker)
	}
	if l.c.Redis.URL == "" {
		return nil
	}
	if u, err := url.Parse(l.c.Redis.URL); err == nil && loopback(u.Hostname()) {
		return role.Fail(role.Usage, fmt.Errorf("redis.url is %s, which in a container is the container itself", clean(redis.Redact(l.c.Redis.URL))),
			"name an address of this machine that its containers reach, or leave redis.url out and Sett starts one")
	}
	for _, agent := range l.c.Agents {
		if agent.Network == config.NetworkInternal {
			return role.Fail(role.Usage, fmt.Errorf("agent %s has network: internal, from where redis.url (%s) cannot be reached", agent.Name, clean(redis.Redact(l.c.Redis.URL))),
				"leave redis.url out and Sett starts one inside, or let the agent have network: full, or none for its tool")
		}
	}
	if l.a.Getenv(env.RedisCAFile) != "" {
		return role.Fail(role.Usage, fmt.Errorf("%s names a file that containers do not see", env.RedisCAFile),
			"use a certificate that is signed by a known authority, or --runtime process")
	}
	return nil
}

// onHost says whether the orchestrator is to be a process of this machine.
func (l *containerLauncher) onHost() bool { return l.c.Orchestrator.Run == config.RunHost }

// embedded says whether the blackboard is sett's own.
func (l *containerLauncher) embedded() bool { return l.c.Services.Redis.Embedded }

func (l *containerLauncher) taken(_ context.Context, name string) (string, error) {
	i := slices.IndexFunc(l.others, func(o docker.Instance) bool { return o.Name == name })
	if i < 0 {
		return "", nil
	}
	return l.others[i].Workspace, nil
}

func (l *containerLauncher) user() string {
	if l.embedded() {
		return "default"
	}
	return redis.AdminUser
}

// provide gets the images, and completes the configuration with what agents are
// made of here.
func (l *containerLauncher) provide(ctx context.Context) error {
	if !l.adopt {
		if l.in.known() && l.in.URL != "" && !l.in.External && l.in.Embedded != l.embedded() {
			l.note("what happened with the other blackboard, Redis or sett's own, is kept apart")
		}
		l.in.Embedded, l.in.Host = l.embedded(), l.onHost()
		for _, s := range l.engine.Shortfalls() {
			l.note("%s", clean(s.Sentence))
		}
		for _, s := range l.ground.notes {
			l.note("%s", clean(s))
		}
	}
	if err := l.images(ctx); err != nil {
		return err
	}
	l.a.introduce(ctx, l.c, l.in)
	return nil
}

func (l *containerLauncher) containers() *containers { return l.place.(*containers) } //nolint:forcetypeassert // its launcher made it so

// update replaces an orchestrator of another version, and otherwise hands over what
// changed.
func (l *containerLauncher) update(ctx context.Context, c config.Changes) (position string, err error) {
	if l.ownUsers() && (len(c.Added)+len(c.Removed) > 0 || c.Notify) {
		if err := l.updateUsers(ctx); err != nil {
			return "", err
		}
	}
	if l.in.Host {
		if position, err = l.since(ctx); err != nil {
			return "", err
		}
		return position, l.startOrchestrator(ctx)
	}
	if l.in.Control != l.brain.image || l.other != "" {
		l.a.printf("  %s orchestrator: of another version, is being replaced\n", l.a.paint("~", warn))
		if position, err = l.board.Last(ctx); err != nil {
			return "", err
		}
		if err := l.place.Gather(ctx); err != nil {
			return "", err
		}
		if err := l.place.Stop(ctx, runtime.ComponentOrchestrator, orchestratorGrace); err != nil {
			return "", err
		}
		if err := l.chooseHealth(); err != nil {
			return "", err
		}
	} else if err := l.containers().Write(ctx, runtime.ComponentOrchestrator, []runtime.File{l.configFile()}); err != nil {
		return "", fmt.Errorf("hand over the configuration: %w", err)
	}
	return position, l.startOrchestrator(ctx)
}

// abandon leaves nothing of a start that failed, but images, which are a cache, and
// a ledger that was there before.
func (l *containerLauncher) abandon(ctx context.Context) error {
	err := l.place.Clear(ctx)
	had := slices.ContainsFunc(l.others, func(o docker.Instance) bool { return o.Name == l.in.Name && o.Ledger })
	if !had && l.place != nil {
		err = errors.Join(err, l.containers().RemoveVolume(ctx, l.containers().LedgerVolume()))
	}
	return err
}

func (l *containerLauncher) done() {
	for _, release := range l.release {
		release()
	}
	l.release = nil
}

func (l *containerLauncher) blackboardDetail() string {
	if l.embedded() {
		return "embedded, " + l.board.Addr()
	}
	return clean(l.c.Services.Redis.Image) + ", " + l.board.Addr()
}

func (l *containerLauncher) notes() []string {
	if !l.embedded() {
		return nil
	}
	return []string{"the embedded blackboard knows one password: agents' cubs have the administrator's, which their tools do not see"}
}
