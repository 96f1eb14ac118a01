package pin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sett/runtime/repofile"
)

// leftOut are the names of directories that no set has: git's own, and compiled Python,
// which is made anew.
var leftOut = []string{".git", "__pycache__"}

// mostLinks is how many symbolic links one path may lead through.
const mostLinks = 40

// walker lists the files of a set. It reads none of them.
type walker struct {
	dir     *os.Root
	source  Source
	files   map[string]listed
	walked  map[string]bool // directories
	skipped []string
}

// listed is a file that the set is to have.
type listed struct {
	size int64
	link string // its target; empty: it is a regular file
}

func newWalker(dir *os.Root, from Source) *walker {
	return &walker{dir: dir, source: from, files: map[string]listed{}, walked: map[string]bool{}}
}

// reached is the end of a path.
type reached struct {
	path  string // without links
	info  fs.FileInfo
	links map[string]string // on the way, to their targets
}

// reach goes a path, link by link. It never leaves the directory.
func (w *walker) reach(name string) (reached, error) {
	r := reached{path: ".", links: map[string]string{}}
	todo := strings.Split(name, "/")
	for hops := 0; len(todo) > 0; {
		next := todo[0]
		todo = todo[1:]
		switch next {
		case "", ".":
			continue
		case "..":
			if r.path == "." {
				return r, repofile.ErrOutside
			}
			r.path = path.Dir(r.path)
			continue
		}
		at := path.Join(r.path, next)
		info, err := w.dir.Lstat(filepath.FromSlash(at))
		if err != nil {
			return r, reason(err)
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			r.path, r.info = at, info
			continue
		}
		to, err := w.target(at)
		if err != nil {
			return r, err
		}
		if hops++; hops > mostLinks {
			return r, syscall.ELOOP
		}
		r.links[at] = relative(path.Dir(at), to)
		r.path, todo = ".", append(strings.Split(to, "/"), todo...)
	}
	var err error
	if r.info == nil || r.path == "." {
		r.info, err = w.dir.Lstat(filepath.FromSlash(r.path))
	}
	return r, reason(err)
}

// target returns the path that a link has, from the root.
func (w *walker) target(link string) (string, error) {
	to, err := w.dir.Readlink(filepath.FromSlash(link))
	if err != nil {
		return "", reason(err)
	}
	if !filepath.IsAbs(to) {
		to = path.Join(path.Dir(link), filepath.ToSlash(to))
		if to == ".." || strings.HasPrefix(to, "../") {
			return "", repofile.ErrOutside
		}
		return to, nil
	}
	to, err = filepath.Rel(w.source.Root, to)
	if err != nil || to == ".." || strings.HasPrefix(to, "../") {
		return "", repofile.ErrOutside
	}
	return filepath.ToSlash(to), nil
}

// relative is a path as a link in a directory writes it. Both are clean.
func relative(dir, to string) string {
	rel, err := filepath.Rel(filepath.FromSlash(dir), filepath.FromSlash(to))
	if err != nil {
		return to // both are relative to the same root
	}
	return filepath.ToSlash(rel)
}

// keep adds a file with the links that lead to it; of a folder, the links alone.
func (w *walker) keep(r reached) {
	for link, to := range r.links {
		w.files[link] = listed{link: to}
	}
	if r.info.Mode().IsRegular() && r.path != w.source.Except {
		w.files[r.path] = listed{size: r.info.Size()}
	}
}

// program adds a program with the files of its folder. One that is reached by a link has
// two folders.
func (w *walker) program(name string) error {
	r, err := w.reach(name)
	if err != nil {
		return err
	}
	if err := w.known(r); err != nil {
		return err
	}
	w.keep(r)
	if w.inGit(r.path) {
		return nil // of git's own folder only the file itself
	}
	dirs := []string{path.Dir(name), path.Dir(r.path)}
	if r.info.IsDir() {
		dirs = append(dirs, r.path)
	}
	for _, dir := range dirs {
		at, err := w.reach(dir)
		if err != nil {
			return err
		}
		if at.path == "." {
			continue // at the root only the file itself
		}
		if err := w.walk(at.path); err != nil {
			return err
		}
	}
	return nil
}

// named adds a file, or a folder with all that is below it.
func (w *walker) named(name string) error {
	r, err := w.reach(name)
	if err != nil {
		return err
	}
	if err := w.known(r); err != nil {
		return err
	}
	w.keep(r)
	if !r.info.IsDir() {
		return nil
	}
	switch {
	case r.path == ".":
		return errors.New("it leads to the whole repository")
	case w.inGit(r.path):
		return errors.New("a folder of git's own cannot be pinned")
	}
	return w.walk(r.path)
}

// inGit says whether a path lies in a folder of git's own. In a set that was taken nothing
// is git's.
func (w *walker) inGit(name string) bool {
	return !w.source.all && slices.Contains(strings.Split(name, "/"), ".git")
}

// known refuses everything that is neither a regular file nor a directory.
func (w *walker) known(r reached) error {
	if r.info.IsDir() {
		return nil
	}
	return repofile.CheckRegular(r.info.Mode())
}

// walk adds the files below a directory. It skips those that cannot be pinned: nobody has
// named them.
func (w *walker) walk(dir string) error {
	if w.walked[dir] {
		return nil
	}
	w.walked[dir] = true
	f, err := w.dir.Open(filepath.FromSlash(dir))
	if err != nil {
		return fmt.Errorf("%s: %w", dir, reason(err))
	}
	entries, err := f.ReadDir(mostFiles + 1)
	_ = f.Close()
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("%s: %w", dir, reason(err))
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		if slices.Contains(leftOut, e.Name()) && !w.source.all {
			continue
		}
		if err := w.entry(name, dir); err != nil {
			return err
		}
		if len(w.files) > mostFiles {
			return &tooMuchError{text: fmt.Sprintf("%s has more than %d files", dir, mostFiles)}
		}
	}
	return nil
}

// entry adds an entry of a directory.
func (w *walker) entry(name, dir string) error {
	r, err := w.reach(name)
	switch {
	case err != nil:
	case w.inGit(r.path):
		err = errors.New("a link to git's own files")
	case r.info.IsDir() && within(dir, r.path):
		err = errors.New("a link to a folder that it lies in")
	case r.info.IsDir():
		if err = w.walk(r.path); err == nil {
			w.keep(r)
			return nil
		}
		if much := (*tooMuchError)(nil); errors.As(err, &much) {
			return err
		}
	default:
		err = repofile.CheckRegular(r.info.Mode())
	}
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) || len(r.links) > 0 { // else it has just gone
			w.skipped = append(w.skipped, name+": "+err.Error())
		}
		return nil
	}
	w.keep(r)
	return nil
}

// within says whether a path is dir or below it.
func within(name, dir string) bool {
	return name == dir || dir == "." || strings.HasPrefix(name, dir+"/")
}

// reason strips the operation and the path.
func reason(err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}
