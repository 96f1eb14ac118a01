package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"sett/runtime"
)

// Instance is one of which the engine has anything, running or not.
type Instance struct {
	Name      string
	Workspace string         // of its repository, as far as anything tells
	Run       string         // of its containers, the newest; empty without any
	Units     []runtime.Unit // by name; of their times only the label's is known
	Ledger    bool           // it has data to go on from
}

// Instances returns every instance that the engine has something of, whoever's it
// is and whatever a state directory knows, by name.
func (e *Engine) Instances(ctx context.Context) ([]Instance, error) {
	f := found{}
	for _, look := range []func(context.Context, found) error{e.findContainers, e.findNetworks, e.findVolumes} {
		if err := look(ctx, f); err != nil {
			return nil, fmt.Errorf("list instances: %w", plain(err))
		}
	}
	all := make([]Instance, 0, len(f))
	for _, name := range slices.Sorted(maps.Keys(f)) {
		i := f[name]
		slices.SortFunc(i.Units, func(a, b runtime.Unit) int { return strings.Compare(a.Name, b.Name) })
		all = append(all, *i)
	}
	return all, nil
}

// labelled selects what belongs to any instance.
func labelled() filters.Args { return filters.NewArgs(filters.Arg("label", runtime.LabelInstance)) }

// found are the instances by name.
type found map[string]*Instance

// note takes an instance down, and what the labels tell of it.
func (f found) note(labels map[string]string) *Instance {
	name := labels[runtime.LabelInstance]
	i := f[name]
	if i == nil {
		i = &Instance{Name: name}
		f[name] = i
	}
	if i.Workspace == "" {
		i.Workspace = labels[runtime.LabelWorkspace]
	}
	return i
}

func (e *Engine) findContainers(ctx context.Context, f found) error {
	list, err := e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: labelled()})
	if err != nil {
		return err
	}
	// Newest first, so the first run that is seen is the newest.
	slices.SortStableFunc(list, func(a, b container.Summary) int { return int(b.Created - a.Created) })
	for _, c := range list {
		name, isUnit := unitOf(c)
		if !isUnit && c.Labels[runtime.LabelComponent] != componentBinary {
			continue // somebody's container of an image that was built for an instance has its labels
		}
		i := f.note(c.Labels)
		if i.Run == "" {
			i.Run = c.Labels[runtime.LabelRun]
		}
		if isUnit {
			i.Units = append(i.Units, summaryUnit(c, name))
		}
	}
	return nil
}

// unitOf is the name of the unit that a container is.
func unitOf(c container.Summary) (string, bool) {
	for _, n := range c.Names {
		if name, ok := strings.CutPrefix(strings.TrimPrefix(n, "/"), "sett-"+c.Labels[runtime.LabelInstance]+"."); ok {
			return name, true
		}
	}
	return "", false
}

// summaryUnit is a unit as far as a list of containers tells.
func summaryUnit(c container.Summary, name string) runtime.Unit {
	return runtime.Unit{
		Name: name, ID: c.ID, Labels: ownLabels(c.Labels),
		Running: c.State == container.StateRunning || c.State == container.StatePaused,
		Paused:  c.State == container.StatePaused,
	}
}

func (e *Engine) findNetworks(ctx context.Context, f found) error {
	list, err := e.api.NetworkList(ctx, network.ListOptions{Filters: labelled()})
	for _, n := range list {
		f.note(n.Labels)
	}
	return err
}

func (e *Engine) findVolumes(ctx context.Context, f found) error {
	list, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: labelled()})
	if err != nil {
		return err
	}
	for _, v := range list.Volumes {
		i := f.note(v.Labels)
		i.Ledger = i.Ledger || v.Name == "sett-"+i.Name+".ledger"
	}
	return nil
}
