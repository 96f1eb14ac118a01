package docker

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
)

// componentBinary is the component of volumes that hold the sett binary, and of the
// containers that fill and hold them. They are never started.
const componentBinary = "binary"

const (
	fillPoll     = 50 * time.Millisecond
	fillPatience = 30 * time.Second // for somebody else who is filling the volume
	settleTime   = 30 * time.Second // for a step that is not interrupted
)

// BinaryVolume returns the name of the volume that holds the control image's
// binary, to be mounted at BinaryDir, made and filled unless it is there. All
// instances share it. Until release is called a container, which is never started,
// keeps it from being removed; it carries the labels, so that Clear finds it should
// release never be called. Any number of calls at once, in any number of processes,
// end with the same good volume.
//
// The engine itself copies the binary: what an image has at a path goes into an
// empty volume that is mounted there. So nothing has to be sent, and it works
// wherever the engine is. An engine that does so only when the container starts
// (Podman) is handed the file through the container instead.
func (e *Engine) BinaryVolume(ctx context.Context, control Image, digest12, arch string, labels runtime.Labels) (name string, release func(), err error) {
	v := binaryVolume{e: e, name: binaryVolumeName(digest12, arch), image: control.ID, labels: labels}
	release, err = v.get(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("make volume %s: %w", v.name, plain(err))
	}
	return v.name, release, nil
}

func binaryVolumeName(digest12, arch string) string { return "sett-bin-" + digest12 + "-linux-" + arch }

// binaryVolume is the making of one.
type binaryVolume struct {
	e      *Engine
	name   string
	image  string
	labels runtime.Labels
}

func (v binaryVolume) get(ctx context.Context) (release func(), err error) {
	if v.e.facts.Name == "Podman" { // its containers' mounts make volumes without labels
		if _, err := v.e.api.VolumeCreate(ctx, volume.CreateOptions{Name: v.name, Labels: v.volumeLabels()}); err != nil {
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

func (v binaryVolume) volumeLabels() map[string]string {
	return map[string]string{runtime.LabelComponent: componentBinary}
}

// create makes a container that has the volume mounted. It is not interrupted:
// then nobody would know of the container.
func (v binaryVolume) create(ctx context.Context, name string, pin bool) (id string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	labels := map[string]string{}
	maps.Copy(labels, v.labels)
	labels[runtime.LabelComponent] = componentBinary
	made, err := v.e.api.ContainerCreate(ctx,
		&container.Config{Image: v.image, Labels: labels},
		&container.HostConfig{
			NetworkMode: "none",
			CapDrop:     []string{"ALL"},
			Mounts: []mount.Mount{{
				Type: mount.TypeVolume, Source: v.name, Target: BinaryDir, ReadOnly: pin,
				VolumeOptions: &mount.VolumeOptions{NoCopy: pin, Labels: v.volumeLabels()},
			}},
		}, nil, nil, name)
	return made.ID, err
}

// remove removes one of these containers, also after the context's end.
func (v binaryVolume) remove(ctx context.Context, id string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	// What cannot be removed now is found by its labels later.
	_ = v.e.api.ContainerRemove(ctx, id, container.RemoveOptions{Force: true})
}

// fill returns once the volume holds the binary, whoever put it there.
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
		case <-patience.C: // whoever was filling it is no more
			v.remove(ctx, v.filler())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// filler is the name of the container through which the volume is filled. That
// the engine gives a name once makes it the lock of those who would.
func (v binaryVolume) filler() string { return v.name + ".fill" }

// tryFill fills the volume; false: somebody else is at it.
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
	// It was not empty, or the engine does not copy. Containers that run a binary
	// of this volume keep theirs: the file is replaced, not written over. It comes
	// from the other container, since the engine locks one for as long as it reads.
	file, _, err := v.e.api.CopyFromContainer(ctx, pin, controlProgram)
	if err != nil {
		return false, err
	}
	defer file.Close()
	if err := v.e.api.CopyToContainer(ctx, id, BinaryDir, file, container.CopyToContainerOptions{AllowOverwriteDirWithFile: true}); err != nil {
		return false, err
	}
	if ok, err := v.fits(ctx, id); ok || err != nil {
		return ok, err
	}
	return false, errors.New("it does not hold what was written to it")
}

// fits says whether the volume's binary, as the container sees it, is the image's.
// The time decides whether it is complete: who copies a file sets it last.
func (v binaryVolume) fits(ctx context.Context, id string) (bool, error) {
	want, err := v.e.api.ContainerStatPath(ctx, id, controlProgram)
	if err != nil {
		return false, err
	}
	got, err := v.e.api.ContainerStatPath(ctx, id, Binary)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil && got.Size == want.Size && got.Mode == want.Mode && got.Mtime.Unix() == want.Mtime.Unix(), err
}
