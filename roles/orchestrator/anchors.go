package orchestrator

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"sett/contract/config"
	"sett/runtime"
)

// anchors are the units that run, by name, with the agent each is for. An anchor
// owns the network namespace that the agent's controller and workers join: making
// one takes most of the time that a container's start takes.
type anchors struct {
	mu      sync.Mutex
	agent   map[string]string
	address map[string]string // of those that are known to have run
}

// runs says where an anchor is, if it has run and nobody has told of its end.
func (n *anchors) runs(unit string) (address string, known bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	address, known = n.address[unit]
	return address, known
}

func (n *anchors) ran(unit, address string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ours := n.agent[unit]; ours { // else it has ended since
		n.address[unit] = address
	}
}

func (n *anchors) add(unit, agent string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.agent[unit] = agent
}

// remove says whether it was there.
func (n *anchors) remove(unit string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, was := n.agent[unit]
	delete(n.agent, unit)
	delete(n.address, unit)
	return was
}

func (n *anchors) all() map[string]string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.agent)
}

// anchorName is the name of an agent's anchor. Agents of either network have
// anchors of their own, so that a change in sett.yml takes none from who uses it.
func (s settings) anchorName(agent config.Agent) string {
	return "net-" + s.network(agent) + "-" + agent.Name
}

// anchored says whether an agent's units join an anchor.
func (s settings) anchored(agent config.Agent) bool {
	return s.containers() && agent.Fresh() && !agent.IsolatedPorts
}

// startJoined starts a unit of an agent, after the anchor that it joins, if any.
func (a *agents) startJoined(ctx context.Context, agent config.Agent, s runtime.Spec) (runtime.Unit, error) {
	if s.Container.Join == "" {
		return a.runtime.Start(ctx, s)
	}
	address, known := a.anchors.runs(s.Container.Join)
	if known {
		u, err := a.runtime.Start(ctx, s)
		if err == nil || ctx.Err() != nil {
			u.Address = cmp.Or(u.Address, address)
			return u, err
		}
		a.log.Debug("unit not started, looking for its network", "unit", s.Name, "error", err)
	}
	u, err := a.startAnchor(ctx, agent)
	if err != nil {
		return u, err
	}
	address = u.Address
	u, err = a.runtime.Start(ctx, s)
	u.Address = cmp.Or(u.Address, address)
	return u, err
}

// startAnchor starts an agent's anchor; one that runs is adopted.
func (a *agents) startAnchor(ctx context.Context, agent config.Agent) (runtime.Unit, error) {
	s := runtime.Spec{
		Name: a.settings.anchorName(agent), Args: []string{"pause"},
		Labels: runtime.Labels{
			runtime.LabelInstance: a.settings.Instance, runtime.LabelComponent: runtime.ComponentAnchor,
			runtime.LabelAgent: agent.Name, runtime.LabelRole: agent.Role, runtime.LabelRun: a.settings.Run,
		},
		Container: runtime.Container{
			Image: a.settings.ControlImage, User: a.settings.AgentsUser, Network: a.settings.network(agent), CPUs: 0.1, Memory: 64 << 20, Pids: 32,
		},
	}
	a.anchors.add(s.Name, agent.Name) // before its end can be delivered
	u, err := a.runtime.Start(ctx, s)
	if err == nil {
		a.anchors.ran(s.Name, u.Address)
	}
	return u, err
}

// anchorEnded brings down what was joined to an anchor that is no more: restarting
// the anchor would leave it without a network. What ends that way is started anew,
// and the anchor with it.
func (a *agents) anchorEnded(ctx context.Context, e runtime.Exit) {
	name := e.Unit.Labels[runtime.LabelAgent]
	if !a.anchors.remove(e.Unit.Name) {
		return // we ended it
	}
	a.log.Error("network of an agent's workers is gone, ending them", "agent", name, "unit", e.Unit.Name, "exit", e.Text)
	if k := a.of(name); k != nil && k.running && !k.busy {
		a.why[k.incarnation] = "its network is gone"
		a.stop(ctx, k, 0)
	}
	a.workers.stopAll(ctx, name)
}

// dropAnchors ends the anchors that nothing is to join any more.
func (a *agents) dropAnchors(ctx context.Context) {
	cfg := a.clan.get()
	for unit, name := range a.anchors.all() {
		agent, member := cfg.Agent(name)
		k := a.of(name)
		switch {
		case member && a.settings.anchored(agent) && a.settings.anchorName(agent) == unit:
			continue
		case k != nil && (k.busy || k.running && k.digest != agent.Digest()), a.workers.busy(name) > 0:
			continue // it may be joined to it
		}
		a.anchors.remove(unit)
		a.aside(ctx, func() func() {
			if err := a.runtime.Stop(ctx, unit, 0); err != nil && ctx.Err() == nil {
				a.log.Warn("network of an agent's workers not removed", "unit", unit, "error", err)
				a.anchors.add(unit, name)
			}
			return nil
		})
	}
}

// reviver is a place that can start an ended unit again as it was.
type reviver interface {
	Revive(ctx context.Context, name string) error
}

// reviveBlackboard starts the blackboard's container again, with back-off, for as
// long as it takes. What it had acknowledged is in its volume.
func (a *agents) reviveBlackboard(ctx context.Context, e runtime.Exit) {
	r, ok := a.runtime.(reviver)
	if !ok {
		return // the keeper does it
	}
	a.log.Error("blackboard ended, starting it again", "exit", e.Text, "code", e.Code, "oom", e.OOM, "tail", e.Tail)
	a.aside(ctx, func() func() {
		for wait := a.pace.shortestBackoff; ctx.Err() == nil; wait = min(2*wait, a.pace.longestBackoff) {
			err := r.Revive(ctx, e.Unit.Name)
			if err == nil || errors.Is(err, context.Canceled) {
				break
			}
			a.log.Error("blackboard not started", "error", err, "again_in", wait)
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
		return nil
	})
}
