package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

// space is the free space of a file system.
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
func (s space) judge(subject, path string) Finding {
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
func (x *exam) disk(ctx context.Context) []Finding {
	type place struct{ what, path string }
	var places []place
	if root, err := x.at.Root(); err == nil {
		places = append(places, place{"state", nearest(root)})
	}
	if x.root != "" {
		places = append(places, place{"workspace", x.root})
	}
	if e, err := x.engineAnswer(ctx); err == nil && e.Endpoint().Socket != "" && !e.Facts().Desktop {
		if dir := e.Facts().RootDir; dir != "" && instance.Exists(dir) {
			places = append(places, place{"engine", dir})
		}
	}
	var out []Finding
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
	for !instance.Exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// state looks whether instances can be kept, and kept private. It writes nothing.
func (x *exam) state(context.Context) []Finding {
	root, err := x.at.Root()
	if err != nil {
		return []Finding{wrong("", err)}
	}
	at := nearest(root)
	info, err := os.Stat(at)
	if err != nil || !info.IsDir() {
		return []Finding{problem("", "XDG_STATE_HOME=DIR names another", "%s is no directory", at)}
	}
	const write, search = 2, 1 // as access(2) has them
	if err := syscall.Access(at, write|search); err != nil {
		return []Finding{problem("", "chown it, or XDG_STATE_HOME=DIR names another", "%s cannot be written: %v", at, err)}
	}
	if at != root {
		return []Finding{fine("", "%s, which sett up makes", root)}
	}
	var out []Finding
	for _, in := range x.instances {
		for _, path := range []string{in.Dir, in.StatePath()} {
			info, err := os.Stat(path)
			if err == nil && info.Mode().Perm()&0o077 != 0 && !(path == in.Dir && info.Mode().Perm()&0o022 == 0) {
				out = append(out, problem(in.Name, "chmod -R go= "+role.ShellWord(in.Dir), "%s, which has passwords in it, is open to others (%s)", path, info.Mode().Perm()))
			} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
				out = append(out, warning(in.Name, "", "%v", err))
			}
		}
	}
	if info.Mode().Perm()&0o022 != 0 {
		out = append(out, problem("", "chmod go-w "+role.ShellWord(root), "others can write %s (%s)", root, info.Mode().Perm()))
	}
	if len(out) == 0 {
		out = append(out, fine("", "%s: %s, yours alone", root, words.Count(len(x.instances), "instance")))
	}
	return out
}
