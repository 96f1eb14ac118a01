package docker

import (
	"context"
	"errors"
	"fmt"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
)

// Clear removes the remains of an instance without units, except its data: its
// networks, and the containers that held its binary volumes. Missing ones are no
// error; a network with somebody else's container on it is an error that names the
// container. One that the engine cannot remove stays, and Options.Warn is told.
func (r *Runtime) Clear(ctx context.Context) (err error) {
	defer engine.Wrap(&err, "clear instance %s", r.o.Instance)
	return errors.Join(r.clearPins(ctx), r.nets.clear(ctx))
}

func (r *Runtime) clearPins(ctx context.Context) error {
	pins, err := r.api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: r.names.labelled(runtime.LabelComponent + "=" + image.ComponentBinary),
	})
	if err != nil {
		return fmt.Errorf("list containers: %w", engine.Plain(err))
	}
	var errs []error
	for _, c := range pins {
		err := r.api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // a conflict: it is being removed
			errs = append(errs, fmt.Errorf("remove container %s: %w", c.ID[:12], engine.Plain(err)))
		}
	}
	return errors.Join(errs...)
}

// Purge clears the instance, and removes its volumes and the images that were built for
// it. Of the things that all instances share, it removes the unused: binary volumes, and
// control images except sett:latest. It spares things in use, and all pulled images.
func (r *Runtime) Purge(ctx context.Context) (err error) {
	defer engine.Wrap(&err, "purge instance %s", r.o.Instance)
	return errors.Join(
		r.Clear(ctx),
		engine.RemoveVolumes(ctx, r.api, r.names.labelled()),
		image.New(r.e).Purge(ctx, r.o.Instance, r.o.Labels[runtime.LabelWorkspace], r.o.Now()),
	)
}

// RemoveVolume removes one volume of the instance: LedgerVolume or ControlVolume. A
// missing volume is no error; a volume of another instance, or one in use, is.
func (r *Runtime) RemoveVolume(ctx context.Context, name string) (err error) {
	defer engine.Wrap(&err, "remove volume %s", name)
	v, err := r.api.VolumeInspect(ctx, name)
	if err == nil && v.Labels[runtime.LabelInstance] != r.o.Instance {
		return ErrForeign
	}
	if err == nil {
		err = r.api.VolumeRemove(ctx, name, false)
	}
	if errdefs.IsNotFound(err) {
		return nil
	}
	return engine.Plain(err)
}
