package orchestrator

import (
	"cmp"
	"fmt"
	"path"
	"path/filepath"
	"slices"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
	"sett/roles/role/container"
	"sett/roles/role/repository"
	"sett/roles/role/store"
	"sett/runtime"
)

// healthAddr is the address of a cub's health in its container.
const healthAddr = ":8080"

// specs describes units: a cub, an anchor, the notifier, the repository.
type specs struct {
	env      role.Env
	settings settings
	known    func() blackboard.Mark // the blackboard, as it was seen last
}

// Agent describes an agent's own unit. Where workers run the tool it has no tree.
func (u specs) Agent(agent config.Agent) (runtime.Spec, error) {
	if agent.Fresh() {
		return u.cub(agent, runtime.ComponentAgent, nil)
	}
	return u.cub(agent, runtime.ComponentAgent, agent.Trees())
}

// Worker describes a worker in that tree; empty: its tool has none. The caller sets the
// name and adds arguments and labels.
func (u specs) Worker(agent config.Agent, tree string) (runtime.Spec, error) {
	var trees []string
	if tree != "" {
		trees = []string{tree}
	}
	return u.cub(agent, runtime.ComponentWorker, trees)
}

// cub describes a cub with its agent's whole configuration. It has several trees where it
// runs several grants at once.
func (u specs) cub(agent config.Agent, component string, trees []string) (runtime.Spec, error) {
	tree := "" // the only one
	if len(trees) == 1 {
		tree = trees[0]
	}
	c := env.Of(agent)
	c.Instance, c.Redis, c.Run = u.settings.Instance, u.settings.Redis, u.settings.Run
	c.Redis.Mark = u.known()
	c.Workspace, c.Incarnation, c.HealthAddr = u.tree(cmp.Or(tree, agent.Name)).Dir(), u.env.NewID(), "127.0.0.1:0"
	s := runtime.Spec{ // not in the tool's directory, which a tool can remove
		Name: runtime.AgentUnit(agent.Name), Args: []string{"cub"},
		Labels: runtime.Labels{
			runtime.LabelInstance: u.settings.Instance, runtime.LabelComponent: component,
			runtime.LabelAgent: agent.Name, runtime.LabelRole: agent.Role, runtime.LabelRun: u.settings.Run,
			runtime.LabelIncarnation: c.Incarnation, runtime.LabelConfig: agent.Digest(),
		},
	}
	if c.Mode = blackboard.NoWorkspace; len(trees) > 0 {
		c.Mode, c.Tree, s.Labels[runtime.LabelTree] = agent.Workspace.Mode, tree, cmp.Or(tree, agent.Name)
		c.RepositoryURL, c.TreeToken = u.settings.RepositoryURL, repository.Token(u.settings.RepositoryKey, agent.Name)
	}
	u.ask(&c, agent)
	var err error
	if u.settings.containers() {
		if err = u.enclose(&s, &c, agent, trees); err != nil {
			return s, err
		}
	}
	if component == runtime.ComponentWorker {
		c.HealthAddr = "off"
	}
	if c.Pin, c.PinDigest, err = u.pinned(&s, agent.Resolved); err != nil {
		return s, fmt.Errorf("describe agent %s: %w", agent.Name, err)
	}
	if !u.settings.containers() {
		c.Walls = u.walls(agent, cmp.Or(tree, agent.Name), c.Mode)
	}
	if agent.Slots() > 1 && component == runtime.ComponentAgent {
		c.Slots = u.slots(c, agent, trees)
	}
	c.Command, c.BidScript = agent.Resolved.Pinned(c.Command, c.Pin), agent.Resolved.Pinned(c.BidScript, c.Pin)
	s.Env, err = u.environ(agent.Environment)
	s.Env = append(s.Env, c.Environ()...)
	return s, err
}

// slots are the places of the grants that an agent runs at once. Those without trees share
// the directory of the cub.
func (u specs) slots(c env.Cub, agent config.Agent, trees []string) []env.Slot {
	all := make([]env.Slot, agent.Slots())
	for i := range all {
		switch {
		case len(trees) == 0:
			all[i] = env.Slot{Workspace: c.Workspace, Walls: c.Walls}
		case u.settings.containers():
			all[i] = env.Slot{Workspace: container.InSlot(container.Workspace, i+1), Tree: trees[i]}
		default:
			all[i] = env.Slot{Workspace: u.tree(trees[i]).Dir(), Tree: trees[i], Walls: u.walls(agent, trees[i], c.Mode)}
		}
	}
	return all
}

// walls are the places that a process's tool reaches; nil: all files of its user. Its
// temporary files lie beside its tree, where no other tool may write.
func (u specs) walls(agent config.Agent, tree string, mode blackboard.WorkspaceMode) *env.Walls {
	if agent.Local == nil {
		return nil
	}
	own := store.Open(u.settings.Store).Tree(resolved(u.settings.Trees), tree, store.Seen{})
	w := &env.Walls{Write: []string{own.Dir()}, Tmp: own.TmpDir(), Read: []string{own.Place(), store.Open(resolved(u.settings.Store)).Objects()}}
	if mode == blackboard.ReadOnly {
		w.Write[0] = own.GitDir()
	}
	if agent.Resolved != nil {
		w.Write = append(w.Write, agent.Resolved.Write...)
	}
	if u.settings.Pins != "" {
		w.Read = append(w.Read, resolved(u.settings.Pins))
	}
	if u.settings.StateDir != "" {
		w.Hide = filepath.Dir(u.settings.StateDir) // with all instances, and the record of agreed rights
	}
	return w
}

// resolved is a path without links: walls do not follow them.
func resolved(path string) string {
	if found, err := filepath.EvalSymlinks(path); err == nil {
		return found
	}
	return path
}

// tree is the place of a private tree.
func (u specs) tree(name string) *store.Tree {
	return store.Open(u.settings.Store).Tree(u.settings.Trees, name, store.Seen{})
}

// environ returns the variables that a unit inherits, next to nothing in a container,
// and those of sett.yml. The role's own variables follow them.
func (u specs) environ(given []config.EnvVar) ([]string, error) {
	vars := env.Inherited(u.env.Environ())
	if u.settings.containers() {
		vars = []string{"HOME=" + container.Home}
		for _, name := range []string{env.LogFormat, env.LogLevel} {
			if v, ok := u.env.Lookup(name); ok {
				vars = append(vars, name+"="+v)
			}
		}
	}
	values, _, err := config.Environ(given, func(name string) (string, bool) { // sett up said which are unset
		v, set := u.settings.Values[name]
		return v, set
	})
	return append(vars, values...), err
}

// pinned gives a unit the pinned files of its configuration, and returns their directory
// as the unit sees it, and their digest; empty: it uses none.
func (u specs) pinned(s *runtime.Spec, r *config.Resolved) (dir, digest string, err error) {
	if r == nil || r.Pin == "" {
		return "", "", nil
	}
	if u.settings.Pins == "" {
		return "", "", fmt.Errorf("%s is not set, and programs are pinned", env.Pins)
	}
	s.Labels[runtime.LabelPin] = r.Pin
	dir = filepath.Join(u.settings.Pins, config.PinFolder(r.Pin))
	if u.settings.containers() {
		s.Container.Mounts = append(s.Container.Mounts, runtime.Mount{Source: dir, Target: container.Pin, ReadOnly: true})
		dir = container.Pin
	}
	return dir, r.Pin, nil
}

// enclose makes a container of an agent's unit.
func (u specs) enclose(s *runtime.Spec, c *env.Cub, agent config.Agent, trees []string) error {
	r := agent.Resolved
	if r == nil {
		return fmt.Errorf("describe agent %s: no image was found for it", agent.Name)
	}
	url, err := u.settings.agentURL(agent.Name)
	if err != nil {
		return fmt.Errorf("describe agent %s: %w", agent.Name, err)
	}
	c.Redis.URL, c.HealthAddr, c.Image = url, healthAddr, r.Image
	mounts := u.treeMounts(trees, c.Mode)
	if c.Workspace = container.Workspace; len(mounts) == 0 {
		c.Workspace = container.Home
	}
	s.Dir = c.Workspace
	s.Container = container.Of(agent, u.settings.AgentsUser)
	s.Container.Mounts, s.Container.Network = mounts, u.settings.network(agent)
	u.trust(s, &c.Redis)
	if anchor := u.settings.anchorName(agent); anchor != "" {
		s.Container.Network, s.Container.Join = "", anchor
	}
	return nil
}

// trust gives a container the certificates that vouch for the blackboard's server.
func (u specs) trust(s *runtime.Spec, r *env.Redis) {
	if r.CAFile = ""; u.settings.AgentsRedisCA == "" {
		return
	}
	r.CAFile = path.Join(container.RedisCA, container.CAName)
	s.Container.Mounts = append(s.Container.Mounts, runtime.Mount{Source: u.settings.AgentsRedisCA, Target: container.RedisCA, ReadOnly: true})
}

// Anchor describes the anchor that an agent's units join; false: they join none.
func (u specs) Anchor(agent config.Agent) (runtime.Spec, bool) {
	name := u.settings.anchorName(agent)
	return runtime.Spec{
		Name: name, Args: []string{"pause"},
		Labels: runtime.Labels{
			runtime.LabelInstance: u.settings.Instance, runtime.LabelComponent: runtime.ComponentAnchor,
			runtime.LabelAgent: agent.Name, runtime.LabelRole: agent.Role, runtime.LabelRun: u.settings.Run,
		},
		Container: runtime.Container{
			Image: u.settings.ControlImage, User: u.settings.AgentsUser, Network: u.settings.network(agent), CPUs: 0.1, Memory: 64 << 20, Pids: 32,
		},
	}, name != ""
}

// anchorName returns the name of the anchor that an agent's units join; empty: they
// join none. The name depends on the network, so that a change of it in sett.yml takes
// no anchor from a unit that has joined it.
func (s settings) anchorName(agent config.Agent) string {
	if !s.containers() || !agent.Fresh() || agent.IsolatedPorts {
		return ""
	}
	return "net-" + s.network(agent) + "-" + agent.Name
}

// treeMounts returns the mounts of a unit's private trees, if it has any.
func (u specs) treeMounts(trees []string, mode blackboard.WorkspaceMode) (all []runtime.Mount) {
	objects := store.Open(u.settings.Store).Objects()
	for _, name := range trees {
		for _, m := range container.Mounts(u.tree(name), config.SlotOf(name), objects, mode) {
			if !slices.Contains(all, m) { // the objects are everybody's
				all = append(all, m)
			}
		}
	}
	return all
}

// workspaceMounts returns the mounts of the person's working tree and of the directories
// that git needs there.
func (s settings) workspaceMounts() []runtime.Mount {
	mounts := []runtime.Mount{{Source: s.Workspace, Target: container.Workspace, ReadOnly: true}}
	for _, dir := range s.WorkspaceExtra {
		mounts = append(mounts, runtime.Mount{Source: dir, Target: dir, ReadOnly: true})
	}
	return mounts
}

// network returns the network of an agent's container.
func (s settings) network(agent config.Agent) string {
	return runtime.AgentNetwork(agent.Network, s.ownBlackboard())
}
