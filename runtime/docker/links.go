package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
)

// links refuses images with a link that leads a mount to the sett binary. The engine follows
// an image's links when it mounts, and mounts places of the same depth in any order: with
// /workspace as a link to /.sett, or a volume of the image's own behind such a link, a file
// of the tree or of the image would lie over the binary, and would run with the unit's
// credential.
type links struct {
	units  *units
	labels map[string]string
	seen   sync.Map // of *seenImage, by image and the places of mounts
}

// seenImage is an image that is looked at, or was.
type seenImage struct {
	mu    sync.Mutex
	sound bool
}

// check looks at the image of a unit, once for each image, and returns the image's volumes.
// Nothing of the image runs: a container is made without any mount, looked into and removed.
func (l *links) check(ctx context.Context, c runtime.Container) (volumes []string, err error) {
	if c.Binary == "" { // its image is Sett's own, or a blackboard's
		return nil, nil
	}
	got, err := l.units.api.ImageInspect(ctx, c.Image)
	if err != nil {
		return nil, engine.Plain(err)
	}
	places := append(prefixes(image.BinaryDir), prefixes("/tmp")...)
	for _, m := range c.Mounts {
		places = append(places, prefixes(m.Target)...)
	}
	var own []mount.Mount // the image's volumes, with nothing in them
	if got.Config != nil {
		for volume := range got.Config.Volumes {
			volumes = append(volumes, volume)
			places = append(places, prefixes(volume)...)
			own = append(own, mount.Mount{Type: mount.TypeTmpfs, Target: volume})
		}
	}
	slices.Sort(places)
	places = slices.Compact(places)
	found, _ := l.seen.LoadOrStore(got.ID+" "+strings.Join(places, " "), &seenImage{})
	seen := found.(*seenImage) //nolint:forcetypeassert // it holds nothing else
	seen.mu.Lock()
	defer seen.mu.Unlock()
	if seen.sound {
		return volumes, nil
	}
	err = l.look(ctx, got.ID, places, own)
	seen.sound = err == nil
	return volumes, err
}

// look refuses an image with such a link among the places.
func (l *links) look(ctx context.Context, id string, places []string, own []mount.Mount) error {
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTime)
	defer cancel()
	api := l.units.api
	made, err := api.ContainerCreate(work, &container.Config{Image: id, Entrypoint: []string{"/none"}, Labels: l.labels},
		&container.HostConfig{NetworkMode: "none", CapDrop: []string{"ALL"}, Mounts: own}, nil, nil, "")
	if err != nil {
		return fmt.Errorf("look into the image: %w", engine.Plain(err))
	}
	defer func() { _ = l.units.remove(work, made.ID, true) }()
	errs := make([]error, len(places))
	var looks sync.WaitGroup
	for i, place := range places {
		looks.Go(func() {
			got, err := api.ContainerStatPath(work, made.ID, place)
			switch {
			case errdefs.IsNotFound(err):
			case err != nil:
				errs[i] = fmt.Errorf("look at %s in the image: %w", place, engine.Plain(err))
			case got.Mode&fs.ModeSymlink != 0 && hides(place, got.LinkTarget):
				errs[i] = fmt.Errorf("in its image %s is a link to %s: what is mounted there could take the place of the sett binary", place, got.LinkTarget)
			}
		})
	}
	looks.Wait()
	return errors.Join(errs...)
}

// hides says whether a mount at a link may lie over the sett binary.
func hides(link, target string) bool {
	if !path.IsAbs(target) {
		target = path.Join(path.Dir(link), target)
	}
	target = path.Clean(target)
	return link == image.BinaryDir || below(image.BinaryDir, target) || below(target, image.BinaryDir)
}

// prefixes are a place and all directories above it, but the root.
func prefixes(place string) (all []string) {
	for p := path.Clean(place); p != "/" && p != "."; p = path.Dir(p) {
		all = append(all, p)
	}
	return all
}
