package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"sett/runtime"
)

// errRuns says that a container was not removed because it runs.
var errRuns = errors.New("it runs")

// Stop asks the unit's main process to end, kills it when the grace is over, whose
// fractions of a second count as whole ones, keeps its log and removes the
// container. A frozen one is woken for it. When the context ends before the grace,
// it returns the context's error and leaves the unit to its request.
func (r *Runtime) Stop(ctx context.Context, name string, grace time.Duration) error {
	if err := runtime.CheckName(name); err != nil {
		return nil // there cannot be such a unit
	}
	if err := r.stop(ctx, name, grace); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("stop unit %s: %w", name, err)
	}
	return nil
}

func (r *Runtime) stop(ctx context.Context, name string, grace time.Duration) error {
	release, err := r.units.take(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	c, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	if c.State.Running || c.State.Restarting {
		seconds := int((grace + time.Second - 1) / time.Second)
		err := r.e.api.ContainerStop(ctx, c.ID, container.StopOptions{Timeout: &seconds})
		if err != nil && c.State.Paused && ctx.Err() == nil {
			// Not every engine stops what it has frozen.
			_ = r.e.api.ContainerUnpause(ctx, c.ID)
			err = r.e.api.ContainerStop(ctx, c.ID, container.StopOptions{Timeout: &seconds})
		}
		if err != nil {
			return plain(err)
		}
		if c, err = r.e.api.ContainerInspect(ctx, c.ID); err != nil {
			return plain(err)
		}
	}
	return r.discard(ctx, c, true)
}

// discard removes an ended container: whoever waits for its end is told, and its
// log is kept. Unless by force, one that runs again is left alone (errRuns).
func (r *Runtime) discard(ctx context.Context, c container.InspectResponse, force bool) error {
	r.ended(ctx, c)
	name, _ := r.unitName(c.Name)
	if err := r.keepLog(ctx, name, c.ID); err != nil {
		r.log.Warn("log not kept", "unit", name, "error", err) // a full disk must not keep units alive
	}
	return r.remove(ctx, c.ID, force)
}

// remove removes a container with the volumes that nobody named, and returns when
// it is gone, whoever removed it.
func (r *Runtime) remove(ctx context.Context, id string, force bool) error {
	err := r.e.api.ContainerRemove(ctx, id, container.RemoveOptions{RemoveVolumes: true, Force: force})
	switch {
	case err == nil, errdefs.IsNotFound(err):
		return nil
	case errdefs.IsConflict(err) && strings.Contains(err.Error(), "removal of container"):
		return r.awaitRemoval(ctx, id)
	case errdefs.IsConflict(err) && !force:
		return errRuns
	}
	return plain(err)
}

func (r *Runtime) awaitRemoval(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	for {
		_, err := r.e.api.ContainerInspect(ctx, id)
		if errdefs.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return plain(err)
		}
		if err := pause(ctx, halfPause); err != nil {
			return err
		}
	}
}
