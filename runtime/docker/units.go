package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/client"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// units are the units of an instance as the engine knows them: containers.
type units struct {
	api       *client.Client
	names     names
	workspace string // of the instance; empty: unknown
	locks     locks  // by unit: one Start, Stop or Revive at a time
}

// errRuns says that a container was not removed because it runs.
var errRuns = errors.New("it runs")

// find returns the container of a unit; fs.ErrNotExist when there is none.
func (u *units) find(ctx context.Context, name string) (container.InspectResponse, error) {
	var c container.InspectResponse
	if err := runtime.CheckName(name); err != nil {
		return c, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	c, err := u.api.ContainerInspect(ctx, u.names.container(name))
	if err != nil {
		return c, engine.Plain(err)
	}
	return c, u.refuseForeign(c.Config.Labels)
}

// refuseForeign refuses a container or network that has a name of this instance and
// belongs to somebody else.
func (u *units) refuseForeign(labels map[string]string) error {
	instance, workspace := labels[runtime.LabelInstance], labels[runtime.LabelWorkspace]
	switch {
	case instance == "":
		return fmt.Errorf("%w: it was not made by Sett", ErrForeign)
	case instance != string(u.names):
		return fmt.Errorf("%w: to instance %s", ErrForeign, instance)
	case u.workspace != "" && workspace != "" && workspace != u.workspace:
		return fmt.Errorf("%w: to the instance %s of %s", ErrForeign, instance, workspace)
	}
	return nil
}

// list returns the units' containers that match, running or not.
func (u *units) list(ctx context.Context, selector runtime.Labels) ([]container.Summary, error) {
	args := u.names.labelled()
	for k, v := range selector {
		args.Add("label", k+"="+v)
	}
	all, err := u.api.ContainerList(ctx, container.ListOptions{All: true, Filters: args})
	if err != nil {
		return nil, engine.Plain(err)
	}
	return slices.DeleteFunc(all, func(c container.Summary) bool {
		return !slices.ContainsFunc(c.Names, func(n string) bool { _, ok := u.names.unit(n); return ok })
	}), nil
}

// inspectors is how many containers are inspected at the same time.
const inspectors = 8

// snapshot inspects every container of list, without those that this value is just
// starting, or that are being removed.
func (u *units) snapshot(ctx context.Context, selector runtime.Labels) ([]container.InspectResponse, error) {
	all, err := u.list(ctx, selector)
	if err != nil {
		return nil, err
	}
	inspected := make([]container.InspectResponse, len(all))
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	slots := make(chan struct{}, inspectors)
	for i, c := range all {
		if c.State == container.StateRemoving || c.State == container.StateCreated && u.starting(c) {
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			inspected[i], errs[i] = u.api.ContainerInspect(ctx, c.ID)
			<-slots
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil && !errdefs.IsNotFound(err) {
			return nil, engine.Plain(err)
		}
	}
	return slices.DeleteFunc(inspected, func(c container.InspectResponse) bool { return c.ContainerJSONBase == nil }), nil
}

// starting says whether this value is about to start the container. Somebody else's
// new container may be about to start as well, or be left from a crash: listed as a
// unit that does not run, it is at least found and removed.
func (u *units) starting(c container.Summary) bool {
	return slices.ContainsFunc(c.Names, func(n string) bool {
		name, _ := u.names.unit(n)
		return u.locks.busy(name)
	})
}

// unit describes a container as a unit.
func (u *units) unit(c container.InspectResponse) runtime.Unit {
	name, _ := u.names.unit(c.Name)
	x := runtime.Unit{Name: name, ID: c.ID, Labels: ownLabels(c.Config.Labels), StartedAt: instant(c.State.StartedAt),
		// Between two runs of the engine's restart policy, it does not run.
		Running: c.State.Running && !c.State.Restarting, Paused: c.State.Paused,
		Restarting: c.State.Restarting, Restarts: c.RestartCount}
	if x.Running && c.NetworkSettings != nil {
		for _, reach := range []string{runtime.NetworkFull, runtime.NetworkInternal} {
			if ep := c.NetworkSettings.Networks[u.names.network(reach)]; ep != nil && x.Address == "" {
				x.Address = ep.IPAddress
			}
		}
	}
	return x
}

// instant reads a time of the engine; its year 1 means never.
func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil || t.Year() <= 1 {
		return time.Time{}
	}
	return t.UTC()
}

// remove removes a container with its nameless volumes, and returns when it is gone,
// also when somebody else removed it. Unless by force, it spares a running container
// (errRuns).
func (u *units) remove(ctx context.Context, id string, force bool) error {
	err := u.api.ContainerRemove(ctx, id, container.RemoveOptions{RemoveVolumes: true, Force: force})
	switch {
	case err == nil, errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err) && strings.Contains(err.Error(), "removal of container"):
		return u.awaitRemoval(ctx, id)
	case errdefs.IsConflict(err) && !force:
		return errRuns
	}
	return engine.Plain(err)
}

func (u *units) awaitRemoval(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for {
		_, err := u.api.ContainerInspect(ctx, id)
		if errdefs.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return engine.Plain(err)
		}
		if err := pause(ctx, shortPause); err != nil {
			return err
		}
	}
}

// pause waits for this time or for the context's end.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
