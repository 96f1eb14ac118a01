package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"sett/runtime"
	"sett/runtime/docker/engine"
	"sett/runtime/docker/image"
)

// An image may declare volumes. The engine would make each of them on the host's disk,
// writable and without a limit, also in a container with a read-only root. The engine takes no
// read-only mount of a volume without a name, and one with a name would outlive its
// container. So a helper has the volumes, with the image's content in them; the unit's
// container borrows them read-only, and they go with it.

// lend makes the helper for a unit of an image with these volumes, and returns its id; empty:
// it needs none. Release removes the helper: the volumes stay while a container has them.
func (l *links) lend(ctx context.Context, c runtime.Container, volumes []string) (id string, release func(), err error) {
	release = func() {}
	open := uncovered(c, volumes)
	if c.Writable || len(open) == 0 {
		return "", release, nil
	}
	made, err := l.units.api.ContainerCreate(ctx, &container.Config{Image: c.Image, Entrypoint: []string{"/none"}, Labels: l.labels},
		&container.HostConfig{NetworkMode: "none", CapDrop: []string{"ALL"}}, nil, nil, "")
	if err != nil {
		return "", release, fmt.Errorf("make the volumes of the image: %w", engine.Plain(err))
	}
	release = func() { _ = l.units.remove(ctx, made.ID, true) }
	for _, volume := range open {
		if err := l.makePlaces(ctx, made.ID, volume, targets(c)); err != nil {
			release()
			return "", func() {}, fmt.Errorf("make the volumes of the image: %w", err)
		}
	}
	return made.ID, release, nil
}

// targets are the places at which something of Sett's is mounted.
func targets(c runtime.Container) []string {
	all := []string{image.BinaryDir}
	for _, m := range c.Mounts {
		all = append(all, path.Clean(m.Target))
	}
	if c.Tmp > 0 {
		all = append(all, "/tmp")
	}
	return all
}

// uncovered are the volumes at whose place nothing of Sett's is mounted.
func uncovered(c runtime.Container, volumes []string) (open []string) {
	taken := targets(c)
	for _, v := range volumes {
		if v = path.Clean(v); !slices.Contains(taken, v) {
			open = append(open, v)
		}
	}
	return open
}

// makePlaces makes the directories in a volume at which something is mounted: later, nobody can.
func (l *links) makePlaces(ctx context.Context, id, volume string, taken []string) error {
	var missing []string
	for _, target := range taken {
		if target == volume || !below(target, volume) {
			continue
		}
		for _, p := range prefixes(target) {
			if p == volume || !below(p, volume) || slices.Contains(missing, p) {
				continue
			}
			_, err := l.units.api.ContainerStatPath(ctx, id, p)
			switch {
			case errdefs.IsNotFound(err):
				missing = append(missing, p)
			case err != nil:
				return engine.Plain(err)
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing) // what is above comes first
	var text bytes.Buffer
	w := tar.NewWriter(&text)
	for _, p := range missing {
		if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: strings.TrimPrefix(p, volume+"/") + "/", Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return engine.Plain(l.units.api.CopyToContainer(ctx, id, volume, &text, container.CopyToContainerOptions{}))
}
