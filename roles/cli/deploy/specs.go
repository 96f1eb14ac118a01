package deploy

import (
	"fmt"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/instance"
	"sett/roles/role/gateway"
	"sett/roles/role/repository"
	"sett/runtime"
)

const (
	// dataDir is where the blackboard's container has the ledger's volume.
	dataDir = "/data"
	// ledgerDir is the directory in it of sett's own blackboard.
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

// redisConf is the configuration of the Redis that Sett starts: every acknowledged write
// is on disk, and nothing is evicted. The last line saves a third of its memory.
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

// ownUsers says whether each agent has a user of its own on the blackboard.
func (l *containerLauncher) ownUsers() bool { return !l.j.in.External && !l.embedded() }

func (l *containerLauncher) usersFile() runtime.File {
	return runtime.File{Path: dataDir + "/redis/users.acl", Mode: 0o600, Data: aclFile(l.j.in.Name, l.j.in.Admin(), aclUsers{Agents: l.j.c.Names(), Notifier: l.j.c.Notify != nil, Gateway: len(l.j.c.Models) > 0})}
}

func (l *containerLauncher) blackboardSpec() runtime.Spec {
	var port int
	if at, err := url.Parse(l.j.in.URL); err == nil {
		port, _ = strconv.Atoi(at.Port())
	}
	s := runtime.Spec{
		Name: runtime.ComponentBlackboard, Labels: l.j.labels(runtime.ComponentBlackboard),
		Container: runtime.Container{
			Image: l.redis.ID, User: boardUser, Network: runtime.NetworkFull, Aliases: []string{l.j.in.Alias()},
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
	s.Labels[runtime.LabelSett] = l.j.at.Build.Name()
	c.Image = l.control.ID
	// The file makes the directory, and makes it its user's.
	c.Files = []runtime.File{{Path: ledgerDir + "/README", Mode: 0o600, Data: []byte("The ledger of a blackboard of Sett.\n")}}
	s.Args = []string{"blackboard"}
	s.Env = []string{
		env.StateDir + "=" + ledgerDir, env.ListenAddr + "=0.0.0.0:" + strconv.Itoa(boardPort),
		env.Token + "=" + l.j.in.Admin(), env.LogFormat + "=json",
	}
	return s
}

// inside is the blackboard as a container reaches it, and as the orchestrator hands
// it to agents: without a user where each has its own, with one where all have the
// same.
func (l *containerLauncher) inside() (own, agents string) {
	at, err := url.Parse(l.j.in.URL)
	switch {
	case err != nil:
		return l.j.in.URL, l.j.in.URL
	case l.j.in.External && at.User.String() == "":
		at.User = url.User("default") // it wants no password, and has no users of ours
		return l.j.in.URL, at.String()
	case l.j.in.External:
		return l.j.in.URL, l.j.in.URL
	}
	at.Host = l.j.in.Alias() + ":" + strconv.Itoa(boardPort)
	own = at.String()
	if l.ownUsers() {
		at.User = nil
	}
	return own, at.String()
}

func (l *containerLauncher) configFile() runtime.File {
	// It was written just before; without it the orchestrator fails.
	text, _ := os.ReadFile(l.j.in.ConfigPath())
	return runtime.File{Path: instance.ControlDir + "/config.json", Mode: 0o600, Data: text}
}

// agentsEnviron has the orchestrator's variables about its agents' containers.
func (l *containerLauncher) agentsEnviron() []string {
	_, agents := l.inside()
	vars := []string{
		env.Runtime + "=" + config.RuntimeDocker, env.AgentsRedisURL + "=" + agents, env.AgentsUser + "=" + l.workspace.user(),
		env.ControlImage + "=" + l.control.ID, env.Workspace + "=" + l.j.in.Workspace,
	}
	vars = append(vars, repositoryEnviron(l.j.in, fmt.Sprintf("http://%s:%d", repository.Host(l.j.in.Name), repository.Port))...)
	vars = append(vars, modelEnviron(l.j, fmt.Sprintf("http://%s:%d", gateway.Host(l.j.in.Name), gateway.Port))...)
	if l.j.c.Redis.CAFile != "" {
		vars = append(vars, env.AgentsRedisCA+"="+instance.CADir(l.j.in))
	}
	if len(l.workspace.extra) > 0 {
		vars = append(vars, env.WorkspaceExtra+"="+strings.Join(l.workspace.extra, ":"))
	}
	return vars
}

// orchestratorSpec is the one container that has the engine's socket. It is root there,
// without any capability, since the socket is root's. The socket gives it the engine in any
// case: another user would hide this and change nothing.
func (l *containerLauncher) orchestratorSpec() runtime.Spec {
	own, _ := l.inside()
	ca, mounts := authorityInside(l.j)
	vars := append([]string{
		env.Instance + "=" + l.j.in.Name, env.Run + "=" + l.j.in.Run, env.Config + "=" + instance.ControlDir + "/config.json",
		env.Pins + "=" + l.j.in.Pins().Dir,
		env.LogDir + "=" + instance.ControlLogs, env.HealthAddr + "=:" + strconv.Itoa(instance.HealthInside), env.LogFormat + "=json",
	}, l.agentsEnviron()...)
	for _, name := range []string{env.Lease, env.Courses, env.LogLevel} {
		if v := l.j.at.Getenv(name); v != "" {
			vars = append(vars, name+"="+v)
		}
	}
	vars = append(vars, valuesEnviron(l.j.values)...)
	labels := l.j.labels(runtime.ComponentOrchestrator)
	labels[runtime.LabelSett] = l.j.at.Build.Name()
	return runtime.Spec{
		Name: runtime.ComponentOrchestrator, Args: []string{"orchestrator"}, Env: append(vars, l.j.boardEnviron(own, ca)...),
		Labels: labels,
		Container: runtime.Container{
			Image: l.brain.image, Binary: l.brain.binary, User: "0:0",
			Mounts:  append(mounts, runtime.Mount{Source: l.containers().ControlVolume(), Volume: true, Target: instance.ControlDir}),
			Files:   []runtime.File{l.configFile()},
			Network: runtime.NetworkFull, Publish: l.j.in.PublishHealth(),
			Memory: 1 << 30, Pids: 512, Tmp: 16 << 20, Restart: true, Socket: true,
			ToHost: l.j.c.Otel.OfThisMachine(),
		},
	}
}

// keeperSpec is the process that keeps the orchestrator running as one.
func (l *containerLauncher) keeperSpec() runtime.Spec {
	vars := append(l.j.hostEnviron(), l.agentsEnviron()...)
	vars = append(vars, env.LogDir+"="+l.j.in.LogsDir())
	for _, name := range []string{"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_TLS_VERIFY", "DOCKER_CERT_PATH", "XDG_RUNTIME_DIR"} {
		if v := l.j.at.Getenv(name); v != "" {
			vars = append(vars, name+"="+v)
		}
	}
	vars = append(vars, valuesEnviron(l.j.values)...)
	return runtime.Spec{
		Name: runtime.ComponentKeeper, Args: []string{"keeper"}, Env: append(vars, l.j.boardEnviron(l.j.in.URL, l.j.c.Redis.CAFile)...),
		Labels: l.j.labels(runtime.ComponentKeeper),
	}
}
