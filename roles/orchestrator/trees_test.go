package orchestrator

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role/repository"
	"sett/runtime"
)

// cub reads a unit's variables as its cub does.
func cub(t *testing.T, s runtime.Spec) env.Cub {
	t.Helper()
	vars := environ(s)
	c, err := env.ParseCub(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if err != nil {
		t.Errorf("a cub does not understand it: %v", err)
	}
	return c
}

// A cub has the tree of its tool, and the agent's own token to ask for it. One whose
// tool has none, or whose workers have them, asks nobody.
func TestTreesOfAgents(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "none", "w"), newPlace()
	s.agent("a").Workspace.Mode = blackboard.ReadWrite
	s.agent("none").Workspace.Mode = blackboard.NoWorkspace
	s.agent("w").Strategy, s.agent("w").Warm = config.StrategyFreshPerCall, 1
	s.write()
	s.lead(inPlace(p))
	s.incarnation(p, "standby-w-")
	for _, c := range []struct {
		unit, agent, tree, dir string
		mode                   blackboard.WorkspaceMode
	}{
		{"agent-a", "a", "a", "a", blackboard.ReadWrite},
		{"agent-none", "none", "", "none", blackboard.NoWorkspace},
		{"agent-w", "w", "", "w", blackboard.NoWorkspace},
		{"standby-w-", "w", "w.1", "w.1", blackboard.ReadOnly},
	} {
		s.incarnation(p, c.unit)
		unit, _ := p.unit(c.unit)
		spec := p.spec(unit.Name)
		dir, url, token := "/nowhere/trees/"+c.dir+"/tree", "", ""
		if c.tree != "" {
			url, token = "http://127.0.0.1:7071", repository.Token("key", c.agent)
		}
		got := cub(t, spec)
		if got.Mode != c.mode || got.Workspace != dir || spec.Dir != "" || got.RepositoryURL != url || got.TreeToken != token ||
			spec.Labels[runtime.LabelTree] != c.tree || environ(spec)[env.Tree] != c.tree {
			t.Errorf("%s: %+v, spec %+v", c.unit, got, spec)
		}
	}
}

// An agent that runs several grants at once has a place for each, with a tree of its own
// unless it has none at all; its own directory is empty.
func TestTreesOfSlots(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a", "none"), newPlace()
	s.agent("a").Concurrency, s.agent("none").Concurrency = 2, 3
	s.agent("none").Workspace.Mode = blackboard.NoWorkspace
	s.agent("a").Local, s.agent("none").Local = &config.Local{}, &config.Local{}
	s.write()
	s.lead(inPlace(p))
	s.incarnation(p, "agent-a")
	s.incarnation(p, "agent-none")
	spec := p.spec("agent-a")
	got := cub(t, spec)
	if got.Mode != blackboard.ReadOnly || got.Workspace != "/nowhere/trees/a/tree" || spec.Dir != "" || got.TreeToken != repository.Token("key", "a") || len(got.Slots) != 2 ||
		spec.Labels[runtime.LabelTree] != "a" {
		t.Fatalf("%+v, spec %+v", got, spec)
	}
	for i, slot := range got.Slots {
		tree := fmt.Sprintf("a.slot-%d", i+1)
		place := "/nowhere/trees/" + tree
		if slot.Tree != tree || slot.Workspace != place+"/tree" || slot.Walls == nil || slot.Walls.Tmp != place+"/tmp" || !slices.Equal(slot.Walls.Write, []string{place + "/git"}) {
			t.Errorf("%+v with walls %+v", slot, slot.Walls)
		}
	}
	got = cub(t, p.spec("agent-none"))
	if got.Mode != blackboard.NoWorkspace || got.RepositoryURL != "" || len(got.Slots) != 3 {
		t.Errorf("%+v", got)
	}
	for _, slot := range got.Slots {
		if slot.Tree != "" || slot.Workspace != got.Workspace || !reflect.DeepEqual(slot.Walls, got.Walls) {
			t.Errorf("%+v with walls %+v", slot, slot.Walls)
		}
	}
}

// Each worker has a tree of its own, also when the next leader hands them out.
func TestTreesOfWorkers(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 2)
	l := s.lead(inPlace(p))
	tree := func(claim string) string {
		s.incarnation(p, workerName("w", claim, 1))
		return p.spec(workerName("w", claim, 1)).Labels[runtime.LabelTree]
	}
	_, one := s.granted()
	first := tree(one)
	s.must(l.stop())
	s.lead(inPlace(p)).leads()
	_, two := s.granted()
	second := tree(two)
	if got := sorted([]string{first, second}); !slices.Equal(got, []string{"w.1", "w.2"}) {
		t.Fatalf("trees %q", got)
	}
	_, three := s.granted()
	p.exit(workerName("w", one, 1), runtime.Exit{Code: 1, Text: "exit status 1"})
	if got := tree(three); got != first {
		t.Errorf("the third has tree %s, %s is free", got, first)
	}
}

// A worker waits while every tree of its agent has a worker, also one that is just
// being stopped.
func TestWorkerWaitsForATree(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 1)
	s.agent("w").Warm = 1
	s.write()
	l := s.lead(inPlace(p))
	old := s.incarnation(p, "standby-w-")
	hold := make(chan struct{})
	p.set(func() { p.hold = hold })
	s.agent("w").Timeout += time.Minute
	s.write()
	s.must(s.board.Nudge(t.Context()))
	s.until("one of the changed agent to wait", func() bool { return p.running("standby-w-") == 2 })
	_, claim := s.granted()
	s.until("a look for the worker that waits", func() bool { return strings.Contains(l.log.String(), "worker not assigned") })
	if n := p.starts("worker-"); n != 0 {
		t.Errorf("%d workers were started, and no tree is free", n)
	}
	close(hold)
	s.incarnation(p, workerName("w", claim, 1))
	was := p.spec(standbyName("w", strings.ToLower(old))).Labels[runtime.LabelTree]
	if got := p.spec(workerName("w", claim, 1)).Labels[runtime.LabelTree]; got != was || got == "" {
		t.Errorf("tree %q, free is %q", got, was)
	}
}

// A worker that a former leader started while its lead passed is stopped if its tree
// has been given to another one.
func TestWorkerOfALostLead(t *testing.T) {
	t.Parallel()
	s, p := newPool(t, 2)
	s.lead(inPlace(p))
	_, one := s.granted()
	s.incarnation(p, workerName("w", one, 1))
	tree := p.spec(workerName("w", one, 1)).Labels[runtime.LabelTree]
	goal := s.goal("g")
	claim := s.claimOf(goal)
	late := workerName("w", claim, 1)
	p.set(func() {
		p.units[late] = runtime.Unit{Name: late, Running: true, StartedAt: time.Now(), Labels: runtime.Labels{
			runtime.LabelComponent: runtime.ComponentWorker, runtime.LabelAgent: "w", runtime.LabelIncarnation: "late", runtime.LabelTree: tree,
			runtime.LabelClaim: claim, runtime.LabelAttempt: "1"}}
	})
	s.bids(claim, "w exclusive")
	s.ended(goal, blackboard.WorkflowFailed)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.ContainsFunc(p.stopped, func(c stopCall) bool { return c.name == late }) || !p.units[workerName("w", one, 1)].Running {
		t.Errorf("stopped %v", p.stopped)
	}
}

// Where agents have trees the role that prepares them is kept running, as a unit that
// is no agent's.
func TestRepository(t *testing.T) {
	t.Parallel()
	s, p := newSett(t, "a"), newPlace()
	s.cfg.Services.Repository.Resolved = &config.Resolved{Sett: "1"}
	s.write()
	s.lead(inPlace(p))
	who := s.incarnation(p, "repository")
	spec := p.spec("repository")
	want := runtime.Labels{runtime.LabelInstance: "test", runtime.LabelComponent: runtime.ComponentRepository, runtime.LabelRun: "run1",
		runtime.LabelIncarnation: who, runtime.LabelConfig: s.cfg.RepositoryDigest()}
	if !want.Match(spec.Labels) || !spec.Labels.Match(want) {
		t.Errorf("labels %v, want %v", spec.Labels, want)
	}
	vars := environ(spec)
	r, err := env.ParseRepository(func(name string) (string, bool) { v, ok := vars[name]; return v, ok })
	if err != nil || r != (env.Repository{Instance: "test", Addr: "127.0.0.1:7071", Key: "key", Store: "/nowhere/store", Trees: "/nowhere/trees",
		HealthAddr: "off"}) || !slices.Equal(spec.Args, []string{"repository"}) || vars[env.RedisURL] != "" {
		t.Errorf("spec %+v, read as %+v, %v", spec, r, err)
	}
	s.must(s.board.Ledger.SetNotified(t.Context(), "1-1"))
	s.cfg.Notify = &config.Notify{Command: []string{"x"}, Timeout: time.Second}
	s.write()
	s.incarnation(p, "notifier")
	p.exit("repository", runtime.Exit{Code: 7, Text: "exit status 7"})
	who = s.incarnation(p, "repository", who)
	s.cfg.Services.Repository.Resolved = &config.Resolved{Sett: "2"}
	s.write()
	s.incarnation(p, "repository", who)
	s.agent("a").Workspace.Mode = blackboard.NoWorkspace
	s.write()
	s.until("its end", func() bool { return p.running("repository") == 0 })
	s.until("its removal", func() bool {
		units, err := p.List(t.Context(), runtime.Labels{runtime.LabelComponent: runtime.ComponentRepository})
		return err == nil && len(units) == 0
	})
	if at, err := s.board.Ledger.Notified(t.Context()); err != nil || at != "1-1" {
		t.Errorf("the notifier's position is %q, %v", at, err)
	}
	s.until("the agent to run again, without a tree", func() bool { return p.running("agent-a") == 1 })
}
