package docker

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/docker/docker/api/types/container"

	"sett/runtime/docker/engine"
)

// Stop asks the unit's main process to end, kills it after the grace, which is
// rounded up to whole seconds, keeps its log and removes the container. It wakes a
// paused container first. When the context ends before the grace, it returns the
// context's error; the request to end stays with the unit.
func (r *Runtime) Stop(ctx context.Context, name string, grace time.Duration) (err error) {
	defer engine.Wrap(&err, "stop unit %s", name)
	release, err := r.units.locks.take(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	c, err := r.units.find(ctx, name)
	if err == nil && (c.State.Running || c.State.Restarting) {
		c, err = r.end(ctx, c, grace)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return r.discard(ctx, c, true)
}

// end ends a running container and returns its final state.
func (r *Runtime) end(ctx context.Context, c container.InspectResponse, grace time.Duration) (container.InspectResponse, error) {
	seconds := int((grace + time.Second - 1) / time.Second)
	err := r.api.ContainerStop(ctx, c.ID, container.StopOptions{Timeout: &seconds})
	if err != nil && c.State.Paused && ctx.Err() == nil {
		// Not every engine stops a paused container.
		_ = r.api.ContainerUnpause(ctx, c.ID)
		err = r.api.ContainerStop(ctx, c.ID, container.StopOptions{Timeout: &seconds})
	}
	if err == nil {
		c, err = r.api.ContainerInspect(ctx, c.ID)
	}
	return c, engine.Plain(err)
}

// discard removes an ended container: first it tells the subscribers of Exits and
// keeps the log. Unless by force, it spares a container that runs again (errRuns).
func (r *Runtime) discard(ctx context.Context, c container.InspectResponse, force bool) error {
	r.ends.tell(ctx, c)
	name, _ := r.names.unit(c.Name)
	if err := r.logs.keep(ctx, name, c.ID); err != nil {
		r.o.Logger.Warn("log not kept", "unit", name, "error", err) // a full disk must not keep units alive
	}
	return r.units.remove(ctx, c.ID, force)
}

// Revive starts an ended unit again, in the same container and with the same volumes.
// It leaves a running unit alone. fs.ErrNotExist when there is no such unit.
func (r *Runtime) Revive(ctx context.Context, name string) (err error) {
	defer engine.Wrap(&err, "revive unit %s", name)
	release, err := r.units.locks.take(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	c, err := r.units.find(ctx, name)
	if err != nil {
		return err
	}
	r.ends.tell(ctx, c) // the next end would overwrite this one
	return engine.Plain(r.api.ContainerStart(ctx, c.ID, container.StartOptions{}))
}
