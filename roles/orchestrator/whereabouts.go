package orchestrator

import (
	"context"
	"fmt"
	"sync"

	"sett/contract/config"
	"sett/runtime"
)

// whereabouts are where agents' containers were found. Whoever leads or not can ask:
// it is the place's word.
type whereabouts struct {
	mu    sync.Mutex
	known map[string]spot // by agent
}

// spot is where an incarnation's container is.
type spot struct{ incarnation, address string }

func newWhereabouts() *whereabouts { return &whereabouts{known: map[string]spot{}} }

func (w *whereabouts) get(agent string) spot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.known[agent]
}

func (w *whereabouts) set(agent string, s spot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.known[agent] = s
}

// container returns the address of the container of an agent's incarnation; empty
// where agents are no containers. Of one that joined its anchor's network it is the
// anchor's.
func (o *orchestrator) container(ctx context.Context, agent config.Agent, incarnation string) (string, error) {
	switch known := o.found.get(agent.Name); {
	case incarnation == "":
		return "", errNotAsked
	case !o.settings.containers():
		return "", nil
	case known.incarnation == incarnation:
		return known.address, nil
	}
	units, err := o.runtime.List(ctx, runtime.Labels{runtime.LabelAgent: agent.Name})
	if err != nil {
		return "", fmt.Errorf("find its container: %w", err)
	}
	address, anchor, runs := "", "", false
	for _, u := range units {
		switch l := u.Labels; {
		case !u.Running:
		case l[runtime.LabelComponent] == runtime.ComponentAgent && l[runtime.LabelIncarnation] == incarnation:
			runs, address = true, u.Address
		case l[runtime.LabelComponent] == runtime.ComponentAnchor && o.settings.anchored(agent) && u.Name == o.settings.anchorName(agent):
			anchor = u.Address
		}
	}
	if address == "" {
		address = anchor
	}
	if !runs || address == "" {
		return "", fmt.Errorf("%w: its container does not run", errNotAsked)
	}
	o.found.set(agent.Name, spot{incarnation, address})
	return address, nil
}
