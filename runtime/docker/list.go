package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"

	"sett/runtime"
)

// inspectors is how many containers are asked about at the same time.
const inspectors = 8

// List returns the instance's units that match. When each was started is known to
// the engine's inspection alone, so it costs one call and one more for each unit.
func (r *Runtime) List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error) {
	all, err := r.snapshot(ctx, selector)
	if err != nil {
		return nil, fmt.Errorf("list units: %w", err)
	}
	units := make([]runtime.Unit, 0, len(all))
	for _, c := range all {
		units = append(units, r.unit(c))
	}
	slices.SortFunc(units, func(a, b runtime.Unit) int { return strings.Compare(a.Name, b.Name) })
	return units, nil
}

// listed are the instance's containers that match and are units, running or not.
func (r *Runtime) listed(ctx context.Context, selector runtime.Labels) ([]container.Summary, error) {
	args := filters.NewArgs(filters.Arg("label", runtime.LabelInstance+"="+r.o.Instance))
	for k, v := range selector {
		args.Add("label", k+"="+v)
	}
	all, err := r.e.api.ContainerList(ctx, container.ListOptions{All: true, Filters: args})
	if err != nil {
		return nil, plain(err)
	}
	return slices.DeleteFunc(all, func(c container.Summary) bool {
		return !slices.ContainsFunc(c.Names, func(n string) bool { _, ok := r.unitName(n); return ok })
	}), nil
}

// snapshot is listed with everything there is to know, without what is just being
// started here, or removed.
func (r *Runtime) snapshot(ctx context.Context, selector runtime.Labels) ([]container.InspectResponse, error) {
	all, err := r.listed(ctx, selector)
	if err != nil {
		return nil, err
	}
	found := make([]container.InspectResponse, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, inspectors)
	for i, c := range all {
		if c.State == container.StateRemoving || c.State == container.StateCreated && r.starting(c) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			found[i], errs[i] = r.e.api.ContainerInspect(ctx, c.ID)
			<-slots
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errdefs.IsNotFound(err) {
			return nil, plain(err)
		}
	}
	return slices.DeleteFunc(found, func(c container.InspectResponse) bool { return c.ContainerJSONBase == nil }), nil
}

// starting says whether this value is about to start the container. One that was
// made and not started by somebody else may be about to be, or be left from a
// crash: as a unit that does not run it is at least found and removed.
func (r *Runtime) starting(c container.Summary) bool {
	return slices.ContainsFunc(c.Names, func(n string) bool {
		name, _ := r.unitName(n)
		return r.units.busy(name)
	})
}

// unit is what a container is to who knows no containers.
func (r *Runtime) unit(c container.InspectResponse) runtime.Unit {
	name, _ := r.unitName(c.Name)
	u := runtime.Unit{Name: name, ID: c.ID, Labels: ownLabels(c.Config.Labels), StartedAt: instant(c.State.StartedAt),
		// Between two runs that the engine's restart policy makes, it does not run.
		Running: c.State.Running && !c.State.Restarting, Paused: c.State.Paused,
		Restarting: c.State.Restarting, Restarts: c.RestartCount}
	if u.Running && c.NetworkSettings != nil {
		for _, n := range []string{r.networkName(), r.internalName()} {
			if ep := c.NetworkSettings.Networks[n]; ep != nil && u.Address == "" {
				u.Address = ep.IPAddress
			}
		}
	}
	return u
}

// instant reads a time of the engine's; its year 1 means never.
func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t.UTC()
}
