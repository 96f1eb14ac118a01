package image

import (
	"context"
	"fmt"
	"path"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"

	"sett/runtime"
)

// usualPath is the path of programs in an image that names none.
const usualPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// HasProgram says whether an image has a file of that name where it looks for programs. Nothing of the
// image runs: a container is made, looked into and removed.
func (s *Store) HasProgram(ctx context.Context, ref, name string, labels runtime.Labels) (bool, error) {
	_, got, err := s.image(ctx, ref)
	if err != nil {
		return false, fmt.Errorf("look for %s in image %s: %w", name, ref, err)
	}
	places := usualPath
	if got.Config != nil {
		for _, v := range got.Config.Env {
			if value, ok := strings.CutPrefix(v, "PATH="); ok {
				places = value
			}
		}
	}
	work, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	made, err := s.api.ContainerCreate(work, &container.Config{Image: got.ID, Entrypoint: []string{"/none"}, Labels: labels},
		&container.HostConfig{NetworkMode: "none", CapDrop: []string{"ALL"}}, nil, nil, "")
	if err != nil {
		return false, fmt.Errorf("look for %s in image %s: %w", name, ref, err)
	}
	defer func() {
		_ = s.api.ContainerRemove(work, made.ID, container.RemoveOptions{Force: true, RemoveVolumes: true})
	}()
	for _, dir := range strings.Split(places, ":") {
		if !path.IsAbs(dir) {
			continue
		}
		_, err := s.api.ContainerStatPath(work, made.ID, path.Join(dir, name))
		switch {
		case err == nil:
			return true, nil
		case !errdefs.IsNotFound(err):
			return false, fmt.Errorf("look for %s in image %s: %w", name, ref, err)
		}
	}
	return false, nil
}
