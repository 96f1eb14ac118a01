package supervisor

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"sett/contract/config"
	"sett/runtime"
)

// Specs describes the units of a clan.
type Specs interface {
	// Agent describes an agent's own unit.
	Agent(agent config.Agent) (runtime.Spec, error)
	// Anchor describes the anchor that the agent's units join; false: they join none.
	Anchor(agent config.Agent) (runtime.Spec, bool)
	Notifier(wanted config.Notify) (runtime.Spec, error)
	Repository(c *config.Config) (runtime.Spec, error)
	ModelGateway(c *config.Config) (runtime.Spec, error)
}

// Launcher starts and stops units. It starts an agent's units after the anchor that
// they join: a unit that owns the network namespace of the agent's own unit and its
// workers. Making a network takes most of the time that a container's start takes.
type Launcher struct {
	log          *slog.Logger
	place        runtime.Runtime
	specs        Specs
	incarnations *Incarnations

	mu      sync.Mutex
	agent   map[string]string // by anchor that runs
	address map[string]string // by anchor that is known to have run
}

// NewLauncher returns a launcher of units at a place.
func NewLauncher(log *slog.Logger, place runtime.Runtime, s Specs, n *Incarnations) *Launcher {
	return &Launcher{log: log, place: place, specs: s, incarnations: n, agent: map[string]string{}, address: map[string]string{}}
}

// Launch starts a unit of an agent. Its incarnation counts as running from before it
// can take a grant.
func (l *Launcher) Launch(ctx context.Context, agent config.Agent, s runtime.Spec) (runtime.Unit, error) {
	incarnation := s.Labels[runtime.LabelIncarnation]
	l.incarnations.begin(incarnation)
	u, err := l.startJoined(ctx, agent, s)
	if adopted := u.Labels[runtime.LabelIncarnation]; err != nil || adopted != incarnation {
		l.incarnations.forget(incarnation)
		if err == nil {
			l.incarnations.begin(adopted)
		}
	}
	return u, err
}

// Stop ends a unit within its grace.
func (l *Launcher) Stop(ctx context.Context, unit string, grace time.Duration) error {
	return l.place.Stop(ctx, unit, grace)
}

// Remove clears away a unit that has ended.
func (l *Launcher) Remove(ctx context.Context, u runtime.Unit) error {
	err := l.place.Stop(ctx, u.Name, 0)
	l.incarnations.forget(u.Labels[runtime.LabelIncarnation])
	return err
}

// startJoined starts a unit of an agent, after the anchor that it joins, if any.
func (l *Launcher) startJoined(ctx context.Context, agent config.Agent, s runtime.Spec) (runtime.Unit, error) {
	if s.Container.Join == "" {
		return l.place.Start(ctx, s)
	}
	if address, known := l.runs(s.Container.Join); known {
		u, err := l.place.Start(ctx, s)
		if err == nil || ctx.Err() != nil {
			u.Address = cmp.Or(u.Address, address)
			return u, err
		}
		l.log.Debug("unit not started, looking for its network", "unit", s.Name, "error", err)
	}
	anchor, err := l.startAnchor(ctx, agent)
	if err != nil {
		return anchor, err
	}
	u, err := l.place.Start(ctx, s)
	u.Address = cmp.Or(u.Address, anchor.Address)
	return u, err
}

// startAnchor starts an agent's anchor; one that runs is adopted.
func (l *Launcher) startAnchor(ctx context.Context, agent config.Agent) (runtime.Unit, error) {
	s, _ := l.specs.Anchor(agent)
	l.add(s.Name, agent.Name) // before its end can be delivered
	u, err := l.place.Start(ctx, s)
	if err == nil {
		l.ran(s.Name, u.Address)
	}
	return u, err
}

// runs returns the address of an anchor that has run, and has not ended as far as known.
func (l *Launcher) runs(anchor string) (address string, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	address, known = l.address[anchor]
	return address, known
}

func (l *Launcher) ran(anchor, address string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ours := l.agent[anchor]; ours { // else it has ended since
		l.address[anchor] = address
	}
}

func (l *Launcher) add(anchor, agent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agent[anchor] = agent
}

// drop says whether the anchor was known.
func (l *Launcher) drop(anchor string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, was := l.agent[anchor]
	delete(l.agent, anchor)
	delete(l.address, anchor)
	return was
}

// anchors returns the agents of the anchors that run.
func (l *Launcher) anchors() map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.agent)
}
