package docker

import (
	"context"
	"fmt"
	"path"
	"regexp"
	"slices"
	"sync"

	"github.com/docker/docker/api/types/mount"

	"sett/runtime"
)

// volumeName is what the engine takes for a name and not for a path.
var volumeName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]+$`) })

// mounts are the unit's volumes and directories of the host, each checked.
func (r *Runtime) mounts(ctx context.Context, s runtime.Spec) ([]mount.Mount, error) {
	var all []mount.Mount
	want := s.Container.Mounts
	if b := s.Container.Binary; b != "" {
		want = append(slices.Clone(want), runtime.Mount{Source: b, Volume: true, Target: BinaryDir, ReadOnly: true})
	}
	for _, m := range want {
		if !path.IsAbs(m.Target) {
			return nil, fmt.Errorf("mount %s: its place in the container, %q, is not an absolute path", m.Source, m.Target)
		}
		to := mount.Mount{Type: mount.TypeBind, Source: m.Source, Target: path.Clean(m.Target), ReadOnly: m.ReadOnly}
		switch {
		case m.Volume && !volumeName().MatchString(m.Source):
			return nil, fmt.Errorf("mount %q: not the name of a volume", m.Source)
		case m.Volume:
			// Without NoCopy, an image could fill a volume before its owner does.
			to.Type, to.VolumeOptions = mount.TypeVolume, &mount.VolumeOptions{NoCopy: true, Labels: r.volumeLabels(m.Source)}
		default:
			if err := refuseSocket(m.Source, r.hostSockets(ctx)); err != nil {
				return nil, err
			}
		}
		all = append(all, to)
	}
	if s.Container.Socket {
		all = append(all, mount.Mount{Type: mount.TypeBind, Source: r.socketSource(), Target: socketTarget})
	}
	return all, nil
}
