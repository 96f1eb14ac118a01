package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sett/roles/role"
)

// space is what is left of a file system.
type space struct {
	device     uint64
	bytes      uint64 // free for this user
	files, all uint64 // inodes that are free, and all; 0 of 0: they are not counted
}

func spaceOf(path string) (space, error) {
	info, err := os.Stat(path)
	if err != nil {
		return space{}, err
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return space{}, fmt.Errorf("look at the file system of %s: %w", path, err)
	}
	s := space{bytes: st.Bavail * uint64(st.Bsize), files: st.Ffree, all: st.Files}
	if own, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device = uint64(own.Dev) //nolint:unconvert // on macOS it is another type
	}
	return s, nil
}

// How little is too little.
const (
	fewBytes, noBytes = 1 << 30, 100 << 20
	fewFiles, noFiles = 10000, 100
)

// judge says how a file system stands.
func (s space) judge(subject, path string) finding {
	left := "%s free at %s"
	if s.bytes < noBytes {
		return problem(subject, "make room: df -h "+role.ShellWord(path), left, gibibytes(s.bytes), path)
	}
	if s.all > 0 && s.files < noFiles {
		return problem(subject, "remove files: df -i "+role.ShellWord(path), "%d files more can be made at %s", s.files, path)
	}
	if s.bytes < fewBytes {
		return warning(subject, "make room: df -h "+role.ShellWord(path), left, gibibytes(s.bytes), path)
	}
	if s.all > 0 && s.files < fewFiles {
		return warning(subject, "remove files: df -i "+role.ShellWord(path), "%d files more can be made at %s", s.files, path)
	}
	return fine(subject, left, gibibytes(s.bytes), path)
}

// gibibytes says how many bytes there are in a unit that people read.
func gibibytes(n uint64) string {
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// disk looks at the file systems of the state directory, the workspace and, where it
// can be seen from here, the engine; one that holds several of these once.
func (x *exam) disk(ctx context.Context) []finding {
	type place struct{ what, path string }
	var places []place
	if root, err := x.a.stateRoot(); err == nil {
		places = append(places, place{"state", nearest(root)})
	}
	if x.root != "" {
		places = append(places, place{"workspace", x.root})
	}
	if e, err := x.engineAnswer(ctx); err == nil && e.Endpoint().Socket != "" && !e.Facts().Desktop {
		if dir := e.Facts().RootDir; dir != "" && exists(dir) {
			places = append(places, place{"engine", dir})
		}
	}
	var out []finding
	seen := map[uint64]int{}
	for _, p := range places {
		s, err := x.space(p.path)
		if err != nil {
			out = append(out, warning(p.what, "", "%v", err))
			continue
		}
		if i, again := seen[s.device]; again {
			out[i].Subject += ", " + p.what
			continue
		}
		seen[s.device] = len(out)
		out = append(out, s.judge(p.what, p.path))
	}
	return out
}

// nearest is the directory, or the first above it that exists.
func nearest(dir string) string {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// state looks whether instances can be kept, and kept private. It writes nothing.
func (x *exam) state(context.Context) []finding {
	root, err := x.a.stateRoot()
	if err != nil {
		return []finding{wrong("", err)}
	}
	at := nearest(root)
	info, err := os.Stat(at)
	if err != nil || !info.IsDir() {
		return []finding{problem("", "XDG_STATE_HOME=DIR names another", "%s is no directory", at)}
	}
	const write, search = 2, 1 // as access(2) has them
	if err := syscall.Access(at, write|search); err != nil {
		return []finding{problem("", "chown it, or XDG_STATE_HOME=DIR names another", "%s cannot be written: %v", at, err)}
	}
	if at != root {
		return []finding{fine("", "%s, which sett up makes", root)}
	}
	var out []finding
	for _, in := range x.instances {
		for _, path := range []string{in.dir, in.statePath()} {
			info, err := os.Stat(path)
			if err == nil && info.Mode().Perm()&0o077 != 0 && !(path == in.dir && info.Mode().Perm()&0o022 == 0) {
				out = append(out, problem(in.Name, "chmod -R go= "+role.ShellWord(in.dir), "%s, which has passwords in it, is open to others (%s)", path, info.Mode().Perm()))
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				out = append(out, warning(in.Name, "", "%v", err))
			}
		}
	}
	if info.Mode().Perm()&0o022 != 0 {
		out = append(out, problem("", "chmod go-w "+role.ShellWord(root), "others can write %s (%s)", root, info.Mode().Perm()))
	}
	if len(out) == 0 {
		out = append(out, fine("", "%s: %s, yours alone", root, count(len(x.instances), "instance")))
	}
	return out
}
