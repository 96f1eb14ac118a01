package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/filters"
	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/network"
	"github.com/docker/docker/api/types/volume"

	"sett/runtime"
)

// Clear removes what an instance without units has left beside its data: its
// networks, and the containers that held its binary volumes. What is not there is
// no error; a network that somebody else's container is on is one, and says whose.
func (r *Runtime) Clear(ctx context.Context) error {
	if err := errors.Join(r.clearPins(ctx), r.clearNetworks(ctx)); err != nil {
		return fmt.Errorf("clear instance %s: %w", r.o.Instance, err)
	}
	return nil
}

// mine selects what carries the instance's label.
func (r *Runtime) mine(more ...filters.KeyValuePair) filters.Args {
	return filters.NewArgs(append(more, filters.Arg("label", runtime.LabelInstance+"="+r.o.Instance))...)
}

func (r *Runtime) clearPins(ctx context.Context) error {
	pins, err := r.e.api.ContainerList(ctx, container.ListOptions{
		All: true, Filters: r.mine(filters.Arg("label", runtime.LabelComponent+"="+componentBinary)),
	})
	if err != nil {
		return fmt.Errorf("list containers: %w", plain(err))
	}
	var errs []error
	for _, c := range pins {
		err := r.e.api.ContainerRemove(ctx, c.ID, container.RemoveOptions{Force: true})
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) { // a conflict: it is being removed
			errs = append(errs, fmt.Errorf("remove container %s: %w", c.ID[:12], plain(err)))
		}
	}
	return errors.Join(errs...)
}

func (r *Runtime) clearNetworks(ctx context.Context) error {
	networks, err := r.e.api.NetworkList(ctx, network.ListOptions{Filters: r.mine()})
	if err != nil {
		return fmt.Errorf("list networks: %w", plain(err))
	}
	var errs []error
	for _, n := range networks {
		errs = append(errs, r.clearNetwork(ctx, n.ID, n.Name))
	}
	return errors.Join(errs...)
}

// letGo is how long the engine may take to notice that what was on a network is
// gone. On a busy machine it is still at it when a container's removal has returned.
const letGo = 5 * time.Second

func (r *Runtime) clearNetwork(ctx context.Context, id, name string) error {
	for until := r.now().Add(letGo); ; {
		err := r.e.api.NetworkRemove(ctx, id)
		if err == nil || errdefs.IsNotFound(err) {
			return nil
		}
		on, found := r.others(ctx, id)
		switch {
		case len(on) > 0:
			return fmt.Errorf("remove network %s: %s still on it", name, strings.Join(on, ", "))
		case !found || r.now().After(until):
			return fmt.Errorf("remove network %s: %w", name, plain(err))
		}
		if err := pause(ctx, halfPause); err != nil {
			return err
		}
	}
}

// others are the containers that are on a network. What the engine only thinks is
// on it, since it was not shut down properly, is taken off.
func (r *Runtime) others(ctx context.Context, id string) (names []string, found bool) {
	n, err := r.e.api.NetworkInspect(ctx, id, network.InspectOptions{})
	if err != nil {
		return nil, false
	}
	for c, ep := range n.Containers {
		if _, err := r.e.api.ContainerInspect(ctx, c); errdefs.IsNotFound(err) {
			_ = r.e.api.NetworkDisconnect(ctx, id, ep.Name, true)
			continue
		}
		names = append(names, ep.Name)
	}
	slices.Sort(names)
	return names, true
}

// Purge removes, after what Clear does, the instance's volumes and the images that
// were built for it, and of what all instances share what nobody uses any more:
// binary volumes, and control images but for the one that is sett:latest. What
// somebody else uses is left alone. Images that were pulled stay.
func (r *Runtime) Purge(ctx context.Context) error {
	err := errors.Join(
		r.Clear(ctx),
		r.e.purgeVolumes(ctx, r.mine()),
		r.purgeImages(ctx),
		r.e.purgeVolumes(ctx, filters.NewArgs(filters.Arg("label", runtime.LabelComponent+"="+componentBinary))),
		r.e.purgeControl(ctx, r.now()),
	)
	if err != nil {
		return fmt.Errorf("purge instance %s: %w", r.o.Instance, err)
	}
	return nil
}

func (e *Engine) purgeVolumes(ctx context.Context, which filters.Args) error {
	list, err := e.api.VolumeList(ctx, volume.ListOptions{Filters: which})
	if err != nil {
		return fmt.Errorf("list volumes: %w", plain(err))
	}
	var errs []error
	for _, v := range list.Volumes {
		err := e.api.VolumeRemove(ctx, v.Name, false)
		if err != nil && !errdefs.IsNotFound(err) && !errdefs.IsConflict(err) {
			errs = append(errs, fmt.Errorf("remove volume %s: %w", v.Name, plain(err)))
		}
	}
	return errors.Join(errs...)
}

// purgeImages removes the images that carry the instance's label: those with a name,
// stages, and what failed builds left. One after the other becomes removable, as
// those that were made from it are gone.
//
// What somebody made from such an image, or named in a way of their own, has the
// label as well. It has other names, and stays with all that it is based on.
func (r *Runtime) purgeImages(ctx context.Context) error {
	prefix := "sett-" + r.o.Instance + "."
	for {
		images, err := r.e.api.ImageList(ctx, image.ListOptions{All: true, Filters: r.mine()})
		if err != nil {
			return fmt.Errorf("list images: %w", plain(err))
		}
		removed := 0
		for _, i := range images {
			n, err := r.e.removeNames(ctx, i, func(tag string) bool {
				return strings.HasPrefix(tag, prefix) || strings.Contains(tag, "/"+prefix)
			})
			if err != nil {
				return err
			}
			removed += n
		}
		if removed == 0 {
			return nil
		}
	}
}

// inHand is how long a control image that nothing runs yet may belong to a `sett up`
// of another version that goes on at this moment.
const inHand = 10 * time.Minute

// purgeControl removes the control images of former versions.
func (e *Engine) purgeControl(ctx context.Context, now time.Time) error {
	images, err := e.api.ImageList(ctx, image.ListOptions{Filters: filters.NewArgs(filters.Arg("label", labelControl))})
	if err != nil {
		return fmt.Errorf("list images: %w", plain(err))
	}
	for _, i := range images {
		if slices.ContainsFunc(i.RepoTags, e.isLatestControl) || i.ParentID != "" { // somebody's, made from one
			continue
		}
		got, err := e.api.ImageInspect(ctx, i.ID)
		if err != nil || now.Sub(got.Metadata.LastTagTime) < inHand {
			continue // gone meanwhile, or in hand
		}
		if _, err := e.removeNames(ctx, i, e.isControlName); err != nil {
			return err
		}
	}
	return nil
}

// removeNames takes those of an image's names away that are ours, and with the last
// name the image. One without a name goes. It returns how much was removed.
func (e *Engine) removeNames(ctx context.Context, i image.Summary, ours func(tag string) bool) (removed int, err error) {
	names := namesOf(i)
	if len(names) == 0 {
		names = []string{i.ID}
		ours = func(string) bool { return true }
	}
	for _, n := range names {
		if !ours(n) {
			continue
		}
		gone, err := e.removeImage(ctx, n)
		if err != nil {
			return removed, err
		}
		if gone {
			removed++
		}
	}
	return removed, nil
}
