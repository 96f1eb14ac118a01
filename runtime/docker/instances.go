package docker

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"
	"github.com/docker/docker/client"

	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
)

// Instance is an instance with anything on the engine, running or not.
type Instance struct {
	Name      string
	Workspace string         // of its repository; empty: no label tells it
	Run       string         // of its newest container; empty without any
	Units     []runtime.Unit // by name; of their times only the label's is known
	Ledger    bool           // it has data to go on from
}

// Instances returns every instance with anything on the engine, by name: also other
// users' instances, and instances without a state directory.
func Instances(ctx context.Context, e *engine.Engine) ([]Instance, error) {
	f := byName{}
	for _, look := range []func(context.Context, *client.Client) error{f.containers, f.networks, f.volumes} {
		if err := look(ctx, e.API()); err != nil {
			return nil, fmt.Errorf("list instances: %w", engine.Plain(err))
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

// byName collects instances.
type byName map[string]*Instance

// note notes an instance and the facts in these labels.
func (f byName) note(labels map[string]string) *Instance {
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

func (f byName) containers(ctx context.Context, api *client.Client) error {
	list, err := api.ContainerList(ctx, container.ListOptions{All: true, Filters: engine.Labelled(runtime.LabelInstance)})
	if err != nil {
		return err
	}
	// Newest first: the first run is the newest.
	slices.SortStableFunc(list, func(a, b container.Summary) int { return int(b.Created - a.Created) })
	for _, c := range list {
		name, isUnit := unitOf(c)
		if !isUnit && c.Labels[runtime.LabelComponent] != image.ComponentBinary {
			continue // a stranger's container has the labels of its image, which was built for an instance
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

// unitOf is the name of a container's unit; false: it is no unit.
func unitOf(c container.Summary) (string, bool) {
	for _, n := range c.Names {
		if name, ok := names(c.Labels[runtime.LabelInstance]).unit(n); ok {
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

func (f byName) networks(ctx context.Context, api *client.Client) error {
	list, err := api.NetworkList(ctx, network.ListOptions{Filters: engine.Labelled(runtime.LabelInstance)})
	for _, n := range list {
		f.note(n.Labels)
	}
	return err
}

func (f byName) volumes(ctx context.Context, api *client.Client) error {
	list, err := api.VolumeList(ctx, volume.ListOptions{Filters: engine.Labelled(runtime.LabelInstance)})
	if err != nil {
		return err
	}
	for _, v := range list.Volumes {
		i := f.note(v.Labels)
		i.Ledger = i.Ledger || v.Name == names(i.Name).ledger()
	}
	return nil
}

// Built lists the images that were built for instances, of which the engine may have
// nothing else, as after a first `sett up` that failed.
func Built(ctx context.Context, e *engine.Engine) ([]image.Built, error) {
	return image.New(e).Built(ctx)
}
