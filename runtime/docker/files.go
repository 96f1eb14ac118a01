package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
	"github.com/docker/docker/api/types/mount"

	"sett/runtime"
	"sett/runtime/docker/engine"
)

// files puts files into containers and reads them.
type files struct {
	units  *units
	now    func() time.Time
	rooted bool // an archive may set the owner of a volume's root
}

// dirMode is the mode of a volume's root and of new directories: for the unit alone.
const dirMode = 0o700

// owner owns a unit's files.
type owner struct{ uid, gid int }

// ownerOf reads a container's user. It refuses names, which only the image can resolve.
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

// volumeOf is the mount point of the writable volume that contains the path, unless
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

// byVolume groups files by the volume that contains them.
func byVolume(mounts []runtime.Mount, files []runtime.File) (map[string][]runtime.File, error) {
	all := map[string][]runtime.File{}
	for _, f := range files {
		t, ok := volumeOf(mounts, f.Path)
		if !ok {
			return nil, fmt.Errorf("file %s is not below a writable volume", f.Path)
		}
		all[t] = append(all[t], f)
	}
	return all, nil
}

// fill makes the unit's user the owner of its writable volumes, which new belong to
// root, and puts its files into them.
func (f files) fill(ctx context.Context, id string, c runtime.Container) error {
	grouped, err := byVolume(c.Mounts, c.Files)
	if err != nil {
		return err
	}
	for _, m := range c.Mounts {
		if !m.Volume || m.ReadOnly {
			continue
		}
		o, err := ownerOf(c.User)
		if err != nil {
			return err
		}
		target := path.Clean(m.Target)
		if err := f.copyIn(ctx, id, target, o, grouped[target]); err != nil {
			return err
		}
	}
	return nil
}

func (f files) write(ctx context.Context, name string, list []runtime.File) error {
	c, err := f.units.find(ctx, name)
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
	grouped, err := byVolume(mounts, list)
	if err != nil {
		return err
	}
	for _, m := range mounts {
		target := path.Clean(m.Target)
		if len(grouped[target]) == 0 {
			continue
		}
		if err := f.copyIn(ctx, c.ID, target, o, grouped[target]); err != nil {
			return err
		}
	}
	return nil
}

// copyIn copies files into the volume at target. The engine refuses any other place
// where the root file system is read-only.
func (f files) copyIn(ctx context.Context, id, target string, o owner, list []runtime.File) error {
	root := ""
	if f.rooted {
		// Docker ignores an entry named ".". Podman needs no entry: it gives a new volume
		// to the user of its first container.
		root = "../" + path.Base(target) + "/"
	}
	var buf bytes.Buffer
	if err := writeTar(&buf, target, root, o, list, f.now()); err != nil {
		return err
	}
	err := f.units.api.CopyToContainer(ctx, id, target, &buf, container.CopyToContainerOptions{})
	if err != nil {
		return fmt.Errorf("copy files to %s: %w", target, engine.Plain(err))
	}
	return nil
}

// writeTar writes the volume's root, if it has a name, then the files with their
// directories.
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
	var dirs []string
	if root != "" {
		dirs = append(dirs, root)
	}
	for _, f := range files {
		name := strings.TrimPrefix(strings.TrimPrefix(path.Clean(f.Path), target), "/")
		above := len(dirs)
		for d := path.Dir(name); !made[d]; d = path.Dir(d) {
			made[d] = true
			dirs = append(dirs, d+"/")
		}
		slices.Reverse(dirs[above:])
	}
	for _, d := range dirs {
		if err := put(tar.Header{Typeflag: tar.TypeDir, Name: d, Mode: dirMode}, nil); err != nil {
			return err
		}
	}
	for _, f := range files {
		name := strings.TrimPrefix(strings.TrimPrefix(path.Clean(f.Path), target), "/")
		if err := put(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: int64(f.Mode)}, f.Data); err != nil {
			return err
		}
	}
	return t.Close()
}

func (f files) read(ctx context.Context, unit, dir string) (io.ReadCloser, error) {
	c, err := f.units.find(ctx, unit)
	if err != nil {
		return nil, err
	}
	tar, _, err := f.units.api.CopyFromContainer(ctx, c.ID, dir)
	if err != nil {
		return nil, engine.Plain(err)
	}
	return plainReader{tar}, nil
}

// plainReader is a stream from the engine with plain errors.
type plainReader struct{ io.ReadCloser }

func (p plainReader) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		err = engine.Plain(err)
	}
	return n, err
}
