package cli

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/docker"
)

const (
	// dataDir is where the blackboard's container has the ledger's volume.
	dataDir = "/data"
	// ledgerDir is what of it is sett's own blackboard's.
	ledgerDir = dataDir + "/sett"
	// boardPort is the blackboard's in its container.
	boardPort = 6379
	// boardUser owns the ledger. It is no agent's, so that the ledger stays readable
	// when the workspace changes hands.
	boardUser = "65532:65532"
	// orchestratorGrace is how long the orchestrator gets to end.
	orchestratorGrace = 10 * time.Second
	// portTries is how often a port that somebody was faster to take is chosen anew.
	portTries = 5
)

// redisConf is the configuration of the Redis that Sett starts: what it acknowledged
// is on disk, and it forgets nothing. The last line saves a third of its memory.
const redisConf = `port 6379
protected-mode no
dir /data/redis
aclfile /data/redis/users.acl
appendonly yes
appendfsync always
save ""
maxmemory-policy noeviction
hash-max-listpack-value 4096
`

// alias is the blackboard's name on the instance's networks.
func (in *instance) alias() string { return redis.Host(in.Name) }

// admin is the password of the blackboard of our own.
func (in *instance) admin() string {
	at, err := url.Parse(in.URL)
	if err != nil || at.User == nil {
		return ""
	}
	password, _ := at.User.Password()
	return password
}

// ownUsers says whether each agent has a user of its own on the blackboard.
func (l *containerLauncher) ownUsers() bool { return !l.in.External && !l.embedded() }

func (l *containerLauncher) usersFile() runtime.File {
	return runtime.File{Path: dataDir + "/redis/users.acl", Mode: 0o600, Data: redis.ACLFile(l.in.Name, l.in.admin(), l.c.Names(), l.c.Notify != nil)}
}

// updateUsers tells Redis of agents, or a notifier, that came and went.
func (l *containerLauncher) updateUsers(ctx context.Context) error {
	if err := l.containers().Write(ctx, runtime.ComponentBlackboard, []runtime.File{l.usersFile()}); err != nil {
		return fmt.Errorf("hand over the agents' passwords: %w", err)
	}
	if err := l.board.ReloadACL(ctx); err != nil {
		return err
	}
	l.board.Close() // Redis before 7.2 has cut it off in any case
	return l.connect(ctx, nil)
}

// startBlackboard starts the blackboard's container, at another port when somebody
// was faster.
func (l *containerLauncher) startBlackboard(ctx context.Context) (runtime.Unit, error) {
	for range portTries {
		unit, err := l.place.Start(ctx, l.blackboardSpec())
		if !errors.Is(err, docker.ErrPort) {
			return unit, err
		}
		if err := l.takePort("127.0.0.1:0", l.in.admin()); err != nil {
			return unit, err
		}
		if err := l.in.save(); err != nil {
			return unit, err
		}
	}
	return runtime.Unit{}, role.Fail(role.Environment, errNoPort, "sett up again")
}

func (l *containerLauncher) blackboardSpec() runtime.Spec {
	var port int
	if at, err := url.Parse(l.in.URL); err == nil {
		port, _ = strconv.Atoi(at.Port())
	}
	s := runtime.Spec{
		Name: runtime.ComponentBlackboard, Labels: l.labels(runtime.ComponentBlackboard),
		Container: runtime.Container{
			Image: l.redis.ID, User: boardUser, Network: runtime.NetworkFull, Aliases: []string{l.in.alias()},
			Mounts:  []runtime.Mount{{Source: l.containers().LedgerVolume(), Volume: true, Target: dataDir}},
			Publish: runtime.Publish{Port: boardPort, Host: port},
			// No limit of memory: to end it when it is full would only end it again.
			Pids: 128, Tmp: 16 << 20, Restart: true,
		},
	}
	c := &s.Container
	if !l.embedded() {
		c.Entrypoint = []string{"redis-server", dataDir + "/redis/redis.conf"}
		c.Files = []runtime.File{{Path: dataDir + "/redis/redis.conf", Mode: 0o600, Data: []byte(redisConf)}, l.usersFile()}
		return s
	}
	c.Image = l.control.ID
	// The file makes the directory, and makes it its user's.
	c.Files = []runtime.File{{Path: ledgerDir + "/README", Mode: 0o600, Data: []byte("The ledger of a blackboard of Sett.\n")}}
	s.Args = []string{"blackboard"}
	s.Env = []string{
		env.StateDir + "=" + ledgerDir, env.ListenAddr + "=0.0.0.0:" + strconv.Itoa(boardPort),
		env.Token + "=" + l.in.admin(), env.LogFormat + "=json",
	}
	return s
}

// inside is the blackboard as a container reaches it, and as the orchestrator hands
// it to agents: without a user where each has its own, with one where all have the
// same.
func (l *containerLauncher) inside() (own, agents string) {
	at, err := url.Parse(l.in.URL)
	switch {
	case err != nil:
		return l.in.URL, l.in.URL
	case l.in.External && at.User.String() == "":
		at.User = url.User("default") // it wants no password, and has no users of ours
		return l.in.URL, at.String()
	case l.in.External:
		return l.in.URL, l.in.URL
	}
	at.Host = l.in.alias() + ":" + strconv.Itoa(boardPort)
	own = at.String()
	if l.ownUsers() {
		at.User = nil
	}
	return own, at.String()
}

func (l *containerLauncher) configFile() runtime.File {
	// It was written just before; what cannot be read is missed at the other end.
	text, _ := os.ReadFile(l.in.configPath())
	return runtime.File{Path: controlDir + "/config.json", Mode: 0o600, Data: text}
}

// ahead starts the orchestrator's container beside the blackboard's: each takes the
// engine most of a second on a busy machine, and the one waits for the other.
func (l *containerLauncher) ahead(ctx context.Context) (wait func() error) {
	if l.in.Host {
		return func() error { return nil }
	}
	spec := l.orchestratorSpec()
	done := make(chan error, 1)
	go func() { done <- l.startControl(ctx, spec) }()
	return sync.OnceValue(func() error {
		err := <-done
		l.started = err == nil
		return err
	})
}

// startOrchestrator starts the orchestrator's container, or the keeper that starts
// it as a process. One that was started ahead may have read that the instance is
// being stopped, and is told now.
func (l *containerLauncher) startOrchestrator(ctx context.Context) error {
	var err error
	switch {
	case l.in.Host:
		_, err = l.place.Start(ctx, l.keeperSpec())
	case l.started:
		err = l.board.Nudge(ctx)
	default:
		err = l.startControl(ctx, l.orchestratorSpec())
	}
	moved := l.in.settleHealth()
	if err != nil || l.in.Control == l.brain.image && !moved {
		return err
	}
	l.in.Control = l.brain.image
	return l.in.save()
}

// startControl starts the orchestrator's container, in place of one that has ended.
func (l *containerLauncher) startControl(ctx context.Context, spec runtime.Spec) error {
	if err := l.freshControl(ctx); err != nil {
		return err
	}
	return l.startPublished(ctx, spec)
}

// freshControl brings home what an orchestrator that has ended kept, and removes
// it: a new one begins with a volume of its own.
func (l *containerLauncher) freshControl(ctx context.Context) error {
	units, err := l.place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentOrchestrator})
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if len(units) == 0 || units[0].Running {
		return nil
	}
	if err := l.place.Gather(ctx); err != nil {
		l.a.sayf("sett: warning: %v\n", err)
	}
	if err := l.place.Stop(ctx, runtime.ComponentOrchestrator, 0); err != nil {
		return err
	}
	return l.containers().RemoveControl(ctx)
}

// agentsEnviron is what the orchestrator has to know of its agents' containers.
func (l *containerLauncher) agentsEnviron() []string {
	_, agents := l.inside()
	vars := []string{
		env.Runtime + "=" + config.RuntimeDocker, env.AgentsRedisURL + "=" + agents, env.AgentsUser + "=" + l.ground.user,
		env.ControlImage + "=" + l.control.ID, env.Workspace + "=" + l.in.Workspace,
	}
	if len(l.ground.extra) > 0 {
		vars = append(vars, env.WorkspaceExtra+"="+strings.Join(l.ground.extra, ":"))
	}
	return vars
}

// orchestratorSpec is the one container that has the engine's socket. It is root
// there, without any capability, since the socket is root's: who has that has the
// engine in any case, so that another user would hide this and change nothing.
func (l *containerLauncher) orchestratorSpec() runtime.Spec {
	own, _ := l.inside()
	vars := append([]string{
		env.Instance + "=" + l.in.Name, env.Run + "=" + l.in.Run, env.Config + "=" + controlDir + "/config.json",
		env.LogDir + "=" + controlLogs, env.HealthAddr + "=:" + strconv.Itoa(healthInside), env.LogFormat + "=json",
	}, l.agentsEnviron()...)
	for _, name := range []string{env.Lease, env.LogLevel} {
		if v := l.a.Getenv(name); v != "" {
			vars = append(vars, name+"="+v)
		}
	}
	return runtime.Spec{
		Name: runtime.ComponentOrchestrator, Args: []string{"orchestrator"}, Env: append(vars, l.boardEnviron(own)...),
		Labels: l.labels(runtime.ComponentOrchestrator),
		Container: runtime.Container{
			Image: l.brain.image, Entrypoint: l.brain.entrypoint, Binary: l.brain.binary, User: "0:0",
			Mounts:  []runtime.Mount{{Source: l.containers().ControlVolume(), Volume: true, Target: controlDir}},
			Files:   []runtime.File{l.configFile()},
			Network: runtime.NetworkFull, Publish: l.in.publishHealth(),
			Memory: 1 << 30, Pids: 512, Tmp: 16 << 20, Restart: true, Socket: true,
		},
	}
}

// keeperSpec is the process that keeps the orchestrator running as one.
func (l *containerLauncher) keeperSpec() runtime.Spec {
	vars := append(l.hostEnviron(), l.agentsEnviron()...)
	vars = append(vars, env.LogDir+"="+l.in.logsDir())
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "XDG_RUNTIME_DIR"} {
		if v := l.a.Getenv(name); v != "" {
			vars = append(vars, name+"="+v)
		}
	}
	return runtime.Spec{
		Name: runtime.ComponentKeeper, Args: []string{"keeper"}, Env: append(vars, l.boardEnviron(l.in.URL)...),
		Labels: l.labels(runtime.ComponentKeeper),
	}
}
