package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"sett/runtime"
)

// dirMode is that of a volume's root and of directories that are made. Only the
// unit itself has any business there.
const dirMode = 0o700

// owner is who a unit's files belong to.
type owner struct{ uid, gid int }

// ownerOf reads a container's user. Names are known to the image alone.
func ownerOf(user string) (owner, error) {
	if user == "" {
		return owner{}, nil
	}
	uid, gid, _ := strings.Cut(user, ":")
	var o owner
	var err error
	if o.uid, err = strconv.Atoi(uid); err == nil && gid != "" {
		o.gid, err = strconv.Atoi(gid)
	}
	if err != nil {
		return o, fmt.Errorf("files for the user %q: its number is not known", user)
	}
	return o, nil
}

// below says whether p is dir or in it.
func below(p, dir string) bool {
	return dir == "/" || p == dir || strings.HasPrefix(p, dir+"/")
}

// volumeOf is the place of the writable volume that the path is in, unless
// something else is mounted in between.
func volumeOf(mounts []runtime.Mount, p string) (target string, ok bool) {
	p = path.Clean(p)
	for _, m := range mounts {
		t := path.Clean(m.Target)
		if below(p, t) && len(t) > len(target) {
			target, ok = t, m.Volume && !m.ReadOnly && p != t
		}
	}
	return target, ok
}

// fill makes the unit's user the owner of its writable volumes, which are made
// for root, and puts its files into them.
func (r *Runtime) fill(ctx context.Context, id string, c runtime.Container) error {
	for _, m := range c.Mounts {
		if !m.Volume || m.ReadOnly {
			continue
		}
		o, err := ownerOf(c.User)
		if err != nil {
			return err
		}
		var files []runtime.File
		for _, f := range c.Files {
			if t, _ := volumeOf(c.Mounts, f.Path); t == path.Clean(m.Target) {
				files = append(files, f)
			}
		}
		if err := r.copyIn(ctx, id, path.Clean(m.Target), o, files); err != nil {
			return err
		}
	}
	return nil
}

// Write puts files into a unit's container, running or not, below a writable
// volume. They belong to the container's user. A file that is there already is
// replaced; whoever reads it meanwhile may find none, or half of it.
// fs.ErrNotExist when there is no such unit.
func (r *Runtime) Write(ctx context.Context, name string, files []runtime.File) error {
	if err := r.write(ctx, name, files); err != nil {
		return fmt.Errorf("write files of unit %s: %w", name, err)
	}
	return nil
}

func (r *Runtime) write(ctx context.Context, name string, files []runtime.File) error {
	c, err := r.find(ctx, name)
	if err != nil {
		return err
	}
	o, err := ownerOf(c.Config.User)
	if err != nil {
		return err
	}
	var mounts []runtime.Mount
	for _, m := range c.Mounts {
		mounts = append(mounts, runtime.Mount{Volume: m.Type == mount.TypeVolume, Target: m.Destination, ReadOnly: !m.RW})
	}
	byVolume := map[string][]runtime.File{}
	var volumes []string
	for _, f := range files {
		t, ok := volumeOf(mounts, f.Path)
		if !ok {
			return fmt.Errorf("file %s is not below a writable volume", f.Path)
		}
		if byVolume[t] == nil {
			volumes = append(volumes, t)
		}
		byVolume[t] = append(byVolume[t], f)
	}
	for _, t := range volumes {
		if err := r.copyIn(ctx, c.ID, t, o, byVolume[t]); err != nil {
			return err
		}
	}
	return nil
}

// find returns the container of a unit of this instance.
func (r *Runtime) find(ctx context.Context, name string) (container.InspectResponse, error) {
	var c container.InspectResponse
	if err := runtime.CheckName(name); err != nil {
		return c, fmt.Errorf("%w: %w", err, fs.ErrNotExist)
	}
	c, err := r.e.api.ContainerInspect(ctx, r.containerName(name))
	if err != nil {
		return c, plain(err)
	}
	return c, r.refuseForeign(c.Config.Labels)
}

// copyIn copies files to below the volume at target. The engine refuses any other
// place where the root file system is read-only.
func (r *Runtime) copyIn(ctx context.Context, id, target string, o owner, files []runtime.File) error {
	root := ""
	if r.e.Facts().Name == "Docker" {
		// An entry named "." it passes over. Podman does of its own accord what this is
		// for: a new volume belongs to the user of its first container.
		root = "../" + path.Base(target) + "/"
	}
	var buf bytes.Buffer
	if err := writeTar(&buf, target, root, o, files, r.now()); err != nil {
		return err
	}
	err := r.e.api.CopyToContainer(ctx, id, target, &buf, container.CopyToContainerOptions{})
	if err != nil {
		return fmt.Errorf("copy files to %s: %w", target, plain(err))
	}
	return nil
}

// writeTar writes the volume's root, if it has a name, the directories on the
// files' ways, and the files.
func writeTar(w io.Writer, target, root string, o owner, files []runtime.File, now time.Time) error {
	t := tar.NewWriter(w)
	put := func(h tar.Header, data []byte) error {
		h.Uid, h.Gid, h.ModTime, h.Size = o.uid, o.gid, now.Truncate(time.Second), int64(len(data))
		if err := t.WriteHeader(&h); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	}
	made := map[string]bool{".": true}
	if root != "" {
		if err := put(tar.Header{Typeflag: tar.TypeDir, Name: root, Mode: dirMode}, nil); err != nil {
			return err
		}
	}
	for _, f := range files {
		name := strings.TrimPrefix(strings.TrimPrefix(path.Clean(f.Path), target), "/")
		var dirs []string
		for d := path.Dir(name); !made[d]; d = path.Dir(d) {
			made[d] = true
			dirs = append(dirs, d)
		}
		slices.Reverse(dirs)
		for _, d := range dirs {
			if err := put(tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: dirMode}, nil); err != nil {
				return err
			}
		}
		if err := put(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.Mode)}, f.Data); err != nil {
			return err
		}
	}
	return t.Close()
}
