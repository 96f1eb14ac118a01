package orchestrator

import (
	"fmt"
	"net/url"
	"path"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

// What an agent's container gets where sett.yml says nothing. The engine's own
// size is a limit besides.
const (
	defaultCPUs   = 2
	defaultMemory = 2 << 30
	defaultPids   = 512
	tmpSize       = 1 << 30 // of /tmp, at most: it counts as memory, and a half of that is left to the tool
)

// Where things are in an agent's container.
const (
	workspaceDir = "/workspace"
	healthAddr   = ":8080"
	homeDir      = "/tmp" // the one place that can always be written
)

// workerName is the name of a grant's unit: whoever starts it starts the same.
func workerName(agent, claim string, attempt int) string {
	return fmt.Sprintf("worker-%s-%s-%d", agent, claim, attempt)
}

func standbyName(agent, incarnation string) string { return "standby-" + agent + "-" + incarnation }

// spec describes an agent's unit: its cub with everything it needs to know. The
// caller says what it does: its name, arguments and further labels.
func (l *leadership) spec(agent config.Agent, component string) (runtime.Spec, error) {
	c := env.Of(agent)
	c.Instance, c.Redis, c.Run = l.settings.Instance, l.settings.Redis, l.settings.Run
	c.Workspace, c.Incarnation, c.HealthAddr = l.settings.Workspace, l.env.NewID(), "127.0.0.1:0"
	s := runtime.Spec{
		Name: runtime.AgentUnit(agent.Name), Args: []string{"cub"}, Dir: l.settings.Workspace,
		Labels: runtime.Labels{
			runtime.LabelInstance: l.settings.Instance, runtime.LabelComponent: component,
			runtime.LabelAgent: agent.Name, runtime.LabelRole: agent.Role, runtime.LabelRun: l.settings.Run,
			runtime.LabelIncarnation: c.Incarnation, runtime.LabelConfig: agent.Digest(),
		},
	}
	if l.settings.containers() {
		if err := l.enclose(&s, &c, agent); err != nil {
			return s, err
		}
	}
	if component == runtime.ComponentWorker {
		c.HealthAddr = "off"
	}
	s.Env = append(l.environ(agent.Environment), c.Environ()...)
	return s, nil
}

// environ is what a unit has of an environment before it is told what to do: what
// it inherits, which in a container is next to nothing, and what sett.yml gives it.
func (l *leadership) environ(given []config.EnvVar) []string {
	vars := env.Inherited(l.env.Environ())
	if l.settings.containers() {
		vars = []string{"HOME=" + homeDir}
		for _, name := range []string{env.LogFormat, env.LogLevel} {
			if v, ok := l.env.Lookup(name); ok {
				vars = append(vars, name+"="+v)
			}
		}
	}
	for _, v := range given {
		vars = append(vars, v.Name+"="+v.Value)
	}
	return vars
}

// enclose makes a container of an agent's unit.
func (l *leadership) enclose(s *runtime.Spec, c *env.Cub, agent config.Agent) error {
	r := agent.Resolved
	if r == nil {
		return fmt.Errorf("describe agent %s: no image was found for it", agent.Name)
	}
	url, err := l.settings.unitURL(func(at, admin string) (string, error) { return redis.AgentURL(at, admin, agent.Name) })
	if err != nil {
		return fmt.Errorf("describe agent %s: %w", agent.Name, err)
	}
	c.Redis.URL, c.Workspace, c.HealthAddr = url, workspaceDir, healthAddr
	s.Dir = workspaceDir
	mounts := l.settings.workspaceMounts(agent.Workspace.Mode != blackboard.ReadWrite)
	limits := agent.Resources.Limits
	s.Container = runtime.Container{
		Image: r.Image, Binary: r.Binary, Entrypoint: r.Program, User: l.settings.AgentsUser, Mounts: mounts,
		Network: l.settings.network(agent), Writable: !agent.ReadOnly,
		CPUs: orDefault(limits.CPUs, defaultCPUs), Memory: orDefault(limits.Memory, defaultMemory),
		Pids:       orDefault(int64(limits.Pids), defaultPids),
		MemoryKept: agent.Resources.Reservations.Memory, CPUsKept: agent.Resources.Reservations.CPUs,
	}
	// More reserved than our own default allows: the user knows better.
	s.Container.Memory, s.Container.CPUs = max(s.Container.Memory, s.Container.MemoryKept), max(s.Container.CPUs, s.Container.CPUsKept)
	s.Container.Tmp = min(tmpSize, s.Container.Memory/2)
	if len(r.Program) > 0 && path.Base(r.Program[0]) == "cub" {
		s.Args = nil // its name says the role already
	}
	if l.settings.anchored(agent) {
		s.Container.Network, s.Container.Join = "", l.settings.anchorName(agent)
	}
	return nil
}

// workspaceMounts are the workspace in a container, and what it needs besides.
func (s settings) workspaceMounts(readOnly bool) []runtime.Mount {
	mounts := []runtime.Mount{{Source: s.Workspace, Target: workspaceDir, ReadOnly: readOnly}}
	for _, dir := range s.WorkspaceExtra {
		mounts = append(mounts, runtime.Mount{Source: dir, Target: dir, ReadOnly: readOnly})
	}
	return mounts
}

// network is what the container of an agent is on.
func (s settings) network(agent config.Agent) string {
	return runtime.AgentNetwork(agent.Network, s.ownBlackboard())
}

// ownBlackboard says whether the blackboard is one of the instance's containers,
// and not somewhere outside its networks.
func (s settings) ownBlackboard() bool {
	at, err := url.Parse(s.AgentsRedis)
	return err == nil && at.Hostname() == redis.Host(s.Instance)
}

func orDefault[T comparable](v, byDefault T) T {
	var zero T
	if v == zero {
		return byDefault
	}
	return v
}
