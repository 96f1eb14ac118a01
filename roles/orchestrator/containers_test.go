package orchestrator

import (
	"errors"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role/container"
	"sett/runtime"
)

// inContainers are the options of an orchestrator whose agents are containers.
func inContainers(p *place, url string) options {
	o := inPlace(p)
	o.vars = map[string]string{env.Runtime: config.RuntimeDocker, env.Workspace: "/home/me/repo", env.Run: "run1",
		env.Store: "/home/me/store", env.Trees: "/home/me/trees", env.RepositoryURL: "http://sett-test-repository:7070", env.RepositoryKey: "key",
		env.AgentsRedisURL: url, env.AgentsUser: "1000:1001", env.ControlImage: "sha256:control",
		env.WorkspaceExtra: "/home/me/main/.git", env.LogLevel: "debug"}
	return o
}

// resolve gives the agents images, as sett up does.
func (s *sett) resolve() {
	s.cfg.Runtime = config.RuntimeDocker
	for i := range s.cfg.Agents {
		a := &s.cfg.Agents[i]
		a.Image, a.Network, a.ReadOnly = "tool:1", config.NetworkFull, true
		a.Resolved = &config.Resolved{Image: "sha256:" + a.Name, Binary: "sett-bin-1"}
	}
	s.cfg.Services.Repository.Resolved = &config.Resolved{Image: "sha256:git", Binary: "sett-bin-1"}
	s.cfg.Services.Repository.Network = runtime.NetworkInternal
	s.write()
}

func environ(s runtime.Spec) map[string]string {
	vars := map[string]string{}
	for _, v := range s.Env {
		name, value, _ := strings.Cut(v, "=")
		vars[name] = value // the last one counts
	}
	return vars
}

// The trees of grants that an agent runs at once are mounted side by side.
func TestContainerWithSlots(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	s.agent("a").Concurrency = 2
	s.write()
	s.lead(inContainers(p, "redis://sett-test-redis:6379/0"))
	s.incarnation(p, "agent-a")
	spec := p.spec("agent-a")
	want := []runtime.Mount{
		{Source: "/home/me/trees/a.slot-1/tree", Target: "/workspace/1", ReadOnly: true}, {Source: "/home/me/store/objects", Target: "/.sett-objects", ReadOnly: true},
		{Source: "/home/me/trees/a.slot-1/git", Target: "/.sett-git/1"},
		{Source: "/home/me/trees/a.slot-2/tree", Target: "/workspace/2", ReadOnly: true}, {Source: "/home/me/trees/a.slot-2/git", Target: "/.sett-git/2"},
	}
	if !slices.Equal(spec.Container.Mounts, want) || spec.Dir != "/workspace" {
		t.Errorf("in %s, mounts %+v", spec.Dir, spec.Container.Mounts)
	}
	slots := cub(t, spec).Slots
	if !reflect.DeepEqual(slots, []env.Slot{{Workspace: "/workspace/1", Tree: "a.slot-1"}, {Workspace: "/workspace/2", Tree: "a.slot-2"}}) {
		t.Errorf("slots %+v", slots)
	}
}

// An agent's container has what sett.yml gives it, defaults for the rest, and
// nothing of the host but its tree and the store's objects.
func TestContainerOfAnAgent(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	a := s.agent("a")
	a.Workspace.Mode, a.ReadOnly, a.Network = blackboard.ReadWrite, false, config.NetworkNone
	a.Resources.Limits.CPUs, a.Resources.Reservations.Memory = 0.5, 3<<30
	a.Environment = []config.EnvVar{{Name: "KEY", Value: "v"}}
	s.write()
	s.lead(inContainers(p, "redis://sett-test-redis:6379/0"))
	s.incarnation(p, "agent-a")
	spec := p.spec("agent-a")
	c := spec.Container
	want := runtime.Container{
		Image: "sha256:a", Binary: "sett-bin-1", User: "1000:1001", Network: runtime.NetworkInternal, Writable: true, Tmp: container.Tmp,
		CPUs: 0.5, Memory: 3 << 30, MemoryKept: 3 << 30, Pids: container.Pids,
	}
	mounts := []runtime.Mount{{Source: "/home/me/trees/a/tree", Target: "/workspace"}, {Source: "/home/me/store/objects", Target: "/.sett-objects", ReadOnly: true}}
	if !slices.Equal(c.Mounts, mounts) {
		t.Errorf("mounts %+v", c.Mounts)
	}
	if c.Mounts = nil; !equalContainers(c, want) {
		t.Errorf("container %+v, want %+v", c, want)
	}
	if spec.Dir != "/workspace" || !slices.Equal(spec.Args, []string{"cub"}) {
		t.Errorf("spec %+v", spec)
	}
	vars := environ(spec)
	for name, value := range map[string]string{"PATH": "", "SECRET": "", "HOME": "/tmp", "KEY": "v", env.Workspace: "/workspace",
		env.HealthAddr: ":8080", env.Agent: "a", env.LogLevel: "debug", env.Image: "sha256:a"} {
		if vars[name] != value {
			t.Errorf("%s is %q, want %q", name, vars[name], value)
		}
	}
	at, err := url.Parse(vars[env.RedisURL])
	if err != nil || at.Host != "sett-test-redis:6379" || at.User.Username() != redis.AgentUser("a") {
		t.Errorf("the agent finds the blackboard at %s, %v", at, err)
	}
	if _, err := env.ParseCub(func(n string) (string, bool) { v, ok := vars[n]; return v, ok }); err != nil {
		t.Errorf("a cub does not understand it: %v", err)
	}
}

// What /tmp takes counts as memory: half of it is left to the tool.
func TestTmpOfASmallContainer(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	s.agent("a").Resources.Limits.Memory = 96 << 20
	s.write()
	s.lead(inContainers(p, containerRedis))
	s.incarnation(p, "agent-a")
	if c := p.spec("agent-a").Container; c.Memory != 96<<20 || c.Tmp != 48<<20 {
		t.Errorf("memory %d, /tmp %d", c.Memory, c.Tmp)
	}
}

// A tree that cannot be written has a repository beside it that can. A tool without a tree
// sees nothing of the host.
func TestTreesInContainers(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "reader", "none", "w"), newPlace()
	s.agent("none").Workspace.Mode = blackboard.NoWorkspace
	s.agent("w").Strategy, s.agent("w").Warm, s.agent("w").Workspace.Mode = config.StrategyFreshPerCall, 1, blackboard.ReadWrite
	s.resolve()
	s.lead(inContainers(p, containerRedis))
	objects := runtime.Mount{Source: "/home/me/store/objects", Target: "/.sett-objects", ReadOnly: true}
	for _, c := range []struct {
		unit, dir string
		mounts    []runtime.Mount
	}{
		{"agent-reader", "/workspace", []runtime.Mount{{Source: "/home/me/trees/reader/tree", Target: "/workspace", ReadOnly: true}, objects,
			{Source: "/home/me/trees/reader/git", Target: "/.sett-git"}}},
		{"agent-none", "/tmp", nil},
		{"agent-w", "/tmp", nil},
		{"standby-w-", "/workspace", []runtime.Mount{{Source: "/home/me/trees/w.1/tree", Target: "/workspace"}, objects}},
	} {
		s.incarnation(p, c.unit)
		unit, _ := p.unit(c.unit)
		spec := p.spec(unit.Name)
		if got := cub(t, spec); !slices.Equal(spec.Container.Mounts, c.mounts) || spec.Dir != c.dir || got.Workspace != c.dir {
			t.Errorf("%s: workspace %s, spec %+v", c.unit, got.Workspace, spec)
		}
	}
}

// The repository has the store, the trees, and nothing else: no socket, no credentials of
// the blackboard, no network but that of agents with trees.
func TestContainerOfTheRepository(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	s.lead(inContainers(p, containerRedis))
	s.incarnation(p, "repository")
	spec := p.spec("repository")
	c := spec.Container
	mounts := []runtime.Mount{{Source: "/home/me/store", Target: "/.sett-store"}, {Source: "/home/me/trees", Target: "/.sett-trees"}}
	want := runtime.Container{Image: "sha256:git", Binary: "sett-bin-1", User: "1000:1001", Network: runtime.NetworkInternal,
		Memory: 1 << 30, Pids: container.Pids, Tmp: 64 << 20}
	if !slices.Equal(c.Mounts, mounts) || !slices.Equal(c.Aliases, []string{"sett-test-repository"}) || !equalContainers(c, want) {
		t.Errorf("container %+v, want %+v with %+v", c, want, mounts)
	}
	vars := environ(spec)
	r, err := env.ParseRepository(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if wanted := (env.Repository{Instance: "test", Addr: ":7070", Key: "key", Store: "/.sett-store", Trees: "/.sett-trees", Objects: "/.sett-objects",
		TreeGit: "/.sett-git", HealthAddr: "off"}); err != nil || r != wanted {
		t.Errorf("settings %+v, %v, want %+v", r, err, wanted)
	}
	if vars[env.RedisURL] != "" || !slices.Equal(spec.Args, []string{"repository"}) || spec.Labels[runtime.LabelConfig] != s.cfg.RepositoryDigest() {
		t.Errorf("spec %+v", spec)
	}
}

func equalContainers(a, b runtime.Container) bool {
	return a.Image == b.Image && a.Binary == b.Binary && slices.Equal(a.Entrypoint, b.Entrypoint) && a.User == b.User &&
		a.Network == b.Network && a.Join == b.Join && a.Writable == b.Writable && a.Tmp == b.Tmp && a.CPUs == b.CPUs &&
		a.Memory == b.Memory && a.MemoryKept == b.MemoryKept && a.CPUsKept == b.CPUsKept && a.Pids == b.Pids &&
		a.Socket == b.Socket && a.Restart == b.Restart && a.Publish == b.Publish && len(a.Files) == len(b.Files)
}

// Where the blackboard knows one user only, every agent is that user.
func TestSharedBlackboardUser(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	s.lead(inContainers(p, "redis://default:pw@sett-test-redis:6379/0"))
	s.incarnation(p, "agent-a")
	if got := environ(p.spec("agent-a"))[env.RedisURL]; got != "redis://default:pw@sett-test-redis:6379/0" {
		t.Errorf("the agent finds the blackboard at %s", got)
	}
}

// newContainerPool is newPool in containers.
func newContainerPool(t *testing.T, replicas, warm int) (*sett, *place) {
	s, p := newPool(t, replicas)
	s.resolve()
	s.agent("w").Warm = warm
	s.write()
	return s, p
}

const containerRedis = "redis://sett-test-redis:6379/0"

// The controller and the workers join an anchor, which outlives them and goes
// with the agent.
func TestAnchor(t *testing.T) {
	t.Parallel()
	s, p := newContainerPool(t, 1, 0)
	s.lead(inContainers(p, containerRedis))
	first := s.incarnation(p, "agent-w")
	_, claim := s.granted()
	unit := workerName("w", claim, 1)
	holder := s.incarnation(p, unit)
	anchor := p.spec("net-full-w")
	if !slices.Equal(anchor.Args, []string{"pause"}) || anchor.Container.Image != "sha256:control" || anchor.Container.Network != runtime.NetworkFull ||
		len(anchor.Env) != 0 || anchor.Labels[runtime.LabelComponent] != runtime.ComponentAnchor {
		t.Errorf("anchor %+v", anchor)
	}
	for _, name := range []string{"agent-w", unit} {
		if c := p.spec(name).Container; c.Join != "net-full-w" || c.Network != "" {
			t.Errorf("%s joins %q on network %q", name, c.Join, c.Network)
		}
	}
	p.exit("agent-w", runtime.Exit{Code: 1, Text: "exit status 1"})
	s.incarnation(p, "agent-w", first)
	s.finishes(s.starts(claim, "w", holder), "w", blackboard.Terminal, "Done", "x")
	p.exit(unit, runtime.Exit{Text: "exit status 0"})
	s.status(claim, blackboard.Complete)
	if n := p.starts("net-full-w"); n != 1 {
		t.Errorf("%d anchors were started", n)
	}
	s.cfg.Agents = append(s.cfg.Agents, member("other"))
	s.resolve()
	s.remove("w")
	s.until("the anchor to go", func() bool {
		units, err := p.List(t.Context(), runtime.Labels{runtime.LabelAgent: "w"})
		s.must(err)
		return len(units) == 0
	})
}

// Without its network nothing that joined it can go on: it ends and starts anew,
// and what it worked on has failed.
func TestAnchorEnds(t *testing.T) {
	t.Parallel()
	s, p := newContainerPool(t, 1, 1)
	s.lead(inContainers(p, containerRedis))
	first := s.incarnation(p, "agent-w")
	waiting := s.incarnation(p, "standby-w-")
	g, claim := s.granted()
	holder := s.incarnation(p, workerName("w", claim, 1)) // the standby has not said hello
	s.starts(claim, "w", holder)
	p.exit("net-full-w", runtime.Exit{Code: 137, Text: "killed"})
	s.status(claim, blackboard.Terminated)
	if r := reportOf(t, s.failures(g, 1)[0]); !strings.Contains(r.Reason, "its network is gone") {
		t.Errorf("reason %q", r.Reason)
	}
	s.incarnation(p, "agent-w", first)
	s.incarnation(p, "standby-w-", waiting)
	if n := p.starts("net-full-w"); n != 2 {
		t.Errorf("%d anchors were started", n)
	}
}

// Whoever opens ports of its own has a network of its own.
func TestIsolatedPorts(t *testing.T) {
	t.Parallel()
	s, p := newContainerPool(t, 1, 0)
	s.agent("w").IsolatedPorts = true
	s.write()
	s.lead(inContainers(p, containerRedis))
	_, claim := s.granted()
	unit := workerName("w", claim, 1)
	s.incarnation(p, unit)
	if c := p.spec(unit).Container; c.Join != "" || c.Network != runtime.NetworkFull || p.starts("net-") != 0 {
		t.Errorf("container %+v", c)
	}
}

// A blackboard that ends is started again, until that takes.
func TestBlackboardIsRevived(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.resolve()
	p.failRevive = errors.New("not yet")
	p.units["blackboard"] = runtime.Unit{Name: "blackboard", Running: true,
		Labels: runtime.Labels{runtime.LabelComponent: runtime.ComponentBlackboard}}
	s.lead(inContainers(p, containerRedis))
	s.incarnation(p, "agent-a")
	p.exit("blackboard", runtime.Exit{Code: 137, Text: "killed"})
	s.until("the blackboard", func() bool { return p.running("blackboard") == 1 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Equal(p.revived, []string{"blackboard", "blackboard"}) {
		t.Errorf("revived %v", p.revived)
	}
}

// A worker that was heard of no more is ended, and what it had has failed.
func TestSilentWorker(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 1)
	o := inPlace(p)
	usual := o.pace
	o.pace = func(p *pace) { usual(p); p.units.SilentAfter, p.units.Promise = 2*time.Second, time.Hour }
	s.lead(o)
	s.must(s.board.Cub.Hello(t.Context(), "w", blackboard.Presence{Incarnation: s.incarnation(p, "agent-w")}, patience))
	g, claim := s.granted()
	s.starts(claim, "w", s.incarnation(p, workerName("w", claim, 1)))
	s.ended(g, blackboard.WorkflowFailed)
	if r := reportOf(t, s.failures(g, 1)[0]); !strings.Contains(r.Reason, "was ended while it worked: silent for 2s") {
		t.Errorf("reason %q", r.Reason)
	}
	if n := p.starts("agent-w"); n != 1 {
		t.Errorf("its controller, which was heard of, was started %d times", n)
	}
}

// Where the blackboard is outside the instance's networks, a cub has to get out,
// whatever its tool may not.
func TestNetworkToReachTheBlackboard(t *testing.T) {
	t.Parallel()
	for agents, want := range map[string]map[string]string{
		containerRedis:               {config.NetworkFull: runtime.NetworkFull, config.NetworkInternal: runtime.NetworkInternal, config.NetworkNone: runtime.NetworkInternal},
		"redis://:x@db.example:6379": {config.NetworkFull: runtime.NetworkFull, config.NetworkInternal: runtime.NetworkInternal, config.NetworkNone: runtime.NetworkFull},
	} {
		s := settings{Instance: "test", AgentsRedis: agents}
		for network, want := range want {
			if got := s.network(config.Agent{Network: network}); got != want {
				t.Errorf("with %s, network %s is %s, want %s", agents, network, got, want)
			}
		}
	}
}

// A repository with objects outside of its git directory is at its own place in the container, and they at theirs: it
// may name them by relative paths.
func TestMountsOfTheUsersRepository(t *testing.T) {
	t.Parallel()
	mounts, dir := userMounts("/home/me/repo/.git", nil)
	if want := []runtime.Mount{{Source: "/home/me/repo/.git", Target: "/repository.git"}}; dir != "/repository.git" || !slices.Equal(mounts, want) {
		t.Errorf("%s, %+v", dir, mounts)
	}
	mounts, dir = userMounts("/home/me/repo/.git", []config.Outside{{Dir: "/objects", Write: true}, {Dir: "/src/.git/objects"}})
	want := []runtime.Mount{
		{Source: "/home/me/repo/.git", Target: "/home/me/repo/.git"}, {Source: "/objects", Target: "/objects"}, {Source: "/src/.git/objects", Target: "/src/.git/objects", ReadOnly: true},
	}
	if dir != "/home/me/repo/.git" || !slices.Equal(mounts, want) {
		t.Errorf("%s, %+v", dir, mounts)
	}
}
