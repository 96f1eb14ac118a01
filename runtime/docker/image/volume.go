package image

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/containerd/errdefs"
	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"
	"github.com/docker/docker/api/types/volume"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// BinaryDir is the mount point of the volume with the sett binary.
const BinaryDir = "/.sett"

// Binary is the program in it.
const Binary = BinaryDir + "/sett"

// VolumePrefix begins the names of volumes with the sett binary.
const VolumePrefix = "sett-bin-"

// ComponentBinary is the component of volumes with the sett binary, and of the
// containers that fill and hold them, which are never started.
const ComponentBinary = "binary"

const (
	fillPoll     = 50 * time.Millisecond
	fillPatience = 30 * time.Second // with another process that fills the volume
	settleTime   = 30 * time.Second // for a step that the context does not interrupt
)

// BinaryVolume returns the name of the volume with the control image's binary, to be
// mounted at BinaryDir. It makes and fills the volume unless it exists. All instances
// share it. Until release is called, a container that is never started keeps it from
// being removed; that container carries the labels, so that Clear finds it if release
// is never called. Concurrent calls, also in several processes, all return the same
// filled volume.
//
// The engine itself copies the binary: it copies an image's files at a path into an
// empty volume mounted there. So nothing has to be sent, which also works with a remote
// engine. To an engine that copies only when the container starts (Podman), the file is
// passed through the container instead.
func (s *Store) BinaryVolume(ctx context.Context, control Image, digest12, arch string, labels runtime.Labels) (name string, release func(), err error) {
	v := binaryVolume{s: s, name: binaryVolumeName(digest12, arch), image: control.ID, labels: labels}
	release, err = v.get(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("make volume %s: %w", v.name, engine.Plain(err))
	}
	return v.name, release, nil
}

func binaryVolumeName(digest12, arch string) string {
	return VolumePrefix + digest12 + "-linux-" + arch
}

// binaryVolume makes and fills one volume.
type binaryVolume struct {
	s      *Store
	name   string
	image  string
	labels runtime.Labels
}

func (v binaryVolume) get(ctx context.Context) (release func(), err error) {
	if v.s.facts.Name == "Podman" { // it would make the volume of a mount without labels
		if _, err := v.s.api.VolumeCreate(ctx, volume.CreateOptions{Name: v.name, Labels: VolumeLabels()}); err != nil {
			return nil, err
		}
	}
	pin, err := v.create(ctx, v.name+"."+rand.Text()[:8], true)
	if err != nil {
		return nil, err
	}
	if err := v.fill(ctx, pin); err != nil {
		v.remove(ctx, pin)
		return nil, err
	}
	return func() { v.remove(ctx, pin) }, nil
}

// VolumeLabels are the labels of a volume with the sett binary.
func VolumeLabels() map[string]string {
	return map[string]string{runtime.LabelComponent: ComponentBinary}
}

// create makes a container with the volume. The context does not interrupt it: otherwise
// nobody would know of the container.
func (v binaryVolume) create(ctx context.Context, name string, pin bool) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	labels := map[string]string{}
	maps.Copy(labels, v.labels)
	labels[runtime.LabelComponent] = ComponentBinary
	made, err := v.s.api.ContainerCreate(ctx,
		&container.Config{Image: v.image, Labels: labels},
		&container.HostConfig{
			NetworkMode: "none",
			CapDrop:     []string{"ALL"},
			Mounts: []mount.Mount{{
				Type: mount.TypeVolume, Source: v.name, Target: BinaryDir, ReadOnly: pin,
				VolumeOptions: &mount.VolumeOptions{NoCopy: pin, Labels: VolumeLabels()},
			}},
		}, nil, nil, name)
	return made.ID, err
}

// remove removes such a container, also after the context's end.
func (v binaryVolume) remove(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	// Clear finds a container that is left by its labels.
	_ = v.s.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true})
}

// fill returns once the volume holds the binary.
func (v binaryVolume) fill(ctx context.Context, pin string) error {
	patience := time.NewTimer(fillPatience)
	defer patience.Stop()
	poll := time.NewTicker(fillPoll)
	defer poll.Stop()
	for {
		if ok, err := v.fits(ctx, pin); ok || err != nil {
			return err
		}
		done, err := v.tryFill(ctx, pin)
		if done || err != nil {
			return err
		}
		select {
		case <-poll.C:
		case <-patience.C: // the process that filled it is gone
			v.remove(ctx, v.filler())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// filler is the name of the container that fills the volume. The engine gives a name
// only once, so the container is also the lock.
func (v binaryVolume) filler() string { return v.name + ".fill" }

// tryFill fills the volume; false: another process fills it.
func (v binaryVolume) tryFill(ctx context.Context, pin string) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, fillPatience)
	defer cancel()
	id, err := v.create(ctx, v.filler(), false)
	if errdefs.IsConflict(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer v.remove(ctx, id)
	if ok, err := v.fits(ctx, id); ok || err != nil {
		return ok, err
	}
	// It was not empty, or the engine does not copy. Running containers keep their
	// binary: the file is replaced, not overwritten. It comes from the other container,
	// since the engine locks a container while it reads from it.
	file, _, err := v.s.api.CopyFromContainer(ctx, pin, controlProgram)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if err := v.s.api.CopyToContainer(ctx, id, BinaryDir, file, container.CopyToContainerOptions{AllowOverwriteDirWithFile: true}); err != nil {
		return false, err
	}
	if ok, err := v.fits(ctx, id); ok || err != nil {
		return ok, err
	}
	return false, errors.New("it does not hold what was written to it")
}

// fits says whether the volume's binary, as the container sees it, is the image's. The
// time shows that it is complete: a copy sets the time last.
func (v binaryVolume) fits(ctx context.Context, id string) (bool, error) {
	want, err := v.s.api.ContainerStatPath(ctx, id, controlProgram)
	if err != nil {
		return false, err
	}
	got, err := v.s.api.ContainerStatPath(ctx, id, Binary)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil && got.Size == want.Size && got.Mode == want.Mode && got.Mtime.Unix() == want.Mtime.Unix(), err
}
