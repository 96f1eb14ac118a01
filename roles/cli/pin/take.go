package pin

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"sett/runtime/repofile"
)

// The bounds of a set.
const (
	MostBytes = 64 << 20
	mostFiles = 20_000
)

// Source is the working tree from which a set is taken.
type Source struct {
	Root   string // absolute, without symbolic links
	Except string // a file that is no part of any set, from the root: sett.yml; empty: none
	all    bool   // nothing is left out
}

// Want names a part of a set.
type Want struct {
	Path    string // from the root, with slashes
	Program bool   // with the other files of its folder
	By      string // the key of sett.yml that names it, for errors
}

// Taken is a set, and the files that it was to have and has not.
type Taken struct {
	Set     Set
	Missing []Want   // programs that do not exist
	Skipped []string // files in the folders of programs that cannot be pinned, with the reasons
}

// tooMuchError is the error of a set beyond its bounds.
type tooMuchError struct{ text string }

func (e *tooMuchError) Error() string { return e.text }

// Hint says how to get out of an error of Take; empty: nothing beyond the error helps.
func Hint(err error) string {
	var much *tooMuchError
	switch {
	case errors.As(err, &much):
		return "put the program and its helper files into a folder of their own"
	case errors.Is(err, repofile.ErrOutside):
		return "copy the file into the repository, or name its target itself"
	}
	return ""
}

// Take lists a set and reads all of its files. With a directory it copies them there; it
// makes the directory.
func (s Source) Take(wants []Want, into string) (Taken, error) {
	dir, err := os.OpenRoot(s.Root)
	if err != nil {
		return Taken{}, err
	}
	defer dir.Close()
	var t Taken
	w := newWalker(dir, s)
	if t.Missing, err = w.list(wants); err != nil {
		return t, err
	}
	slices.Sort(w.skipped)
	t.Skipped = slices.Compact(w.skipped)
	c := copier{dir: dir, into: into}
	if t.Set, err = c.all(w.files); err == nil && into != "" {
		err = seal(into)
	}
	if err != nil && into != "" {
		err = errors.Join(err, Remove(into))
	}
	return t, err
}

// Has returns a function that says whether a path is among the files of a set.
func (s Source) Has(wants []Want) func(name string) bool {
	dir, err := os.OpenRoot(s.Root)
	if err != nil {
		return func(string) bool { return false }
	}
	defer dir.Close()
	w := newWalker(dir, s)
	_, _ = w.list(wants) // Take has said it
	return func(name string) bool { _, has := w.files[name]; return has }
}

// list lists the files of a set, and the programs that do not exist.
func (w *walker) list(wants []Want) (missing []Want, err error) {
	for _, want := range wants {
		add := w.named
		if want.Program {
			add = w.program
		}
		err := add(want.Path)
		if want.Program && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)) {
			missing = append(missing, want)
			continue
		}
		if err != nil {
			return missing, fmt.Errorf("%s: pin %s: %w", want.By, want.Path, err)
		}
	}
	return missing, w.bounded()
}

// bounded refuses a set that is too large, and names its largest files.
func (w *walker) bounded() error {
	var total int64
	paths := slices.Sorted(maps.Keys(w.files))
	for _, f := range w.files {
		total += f.size
	}
	if total <= MostBytes {
		return nil
	}
	slices.SortStableFunc(paths, func(a, b string) int { return cmp.Compare(w.files[b].size, w.files[a].size) })
	var largest []string
	for _, p := range paths[:min(3, len(paths))] {
		largest = append(largest, fmt.Sprintf("%s (%d MiB)", p, w.files[p].size>>20))
	}
	return &tooMuchError{fmt.Sprintf("the programs of sett.yml and the files of their folders are %d MiB, and at most %d MiB are pinned; the largest: %s",
		total>>20, MostBytes>>20, strings.Join(largest, ", "))}
}

// copier reads the files of a set, and may copy them.
type copier struct {
	dir  *os.Root
	into string // empty: nowhere
	read int64
}

func (c *copier) all(files map[string]listed) (Set, error) {
	if c.into != "" {
		if err := os.MkdirAll(c.into, 0o700); err != nil {
			return nil, err
		}
	}
	var set Set
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := File{Path: name, Link: files[name].link}
		err := c.parent(name)
		switch {
		case err != nil:
		case f.Link != "":
			err = c.link(f)
		default:
			f.SHA256, f.Executable, err = c.file(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			continue // it went since it was listed
		}
		if err != nil {
			return nil, fmt.Errorf("pin %s: %w", name, err)
		}
		set = append(set, f)
	}
	return set, nil
}

func (c *copier) to(name string) string { return filepath.Join(c.into, filepath.FromSlash(name)) }

func (c *copier) parent(name string) error {
	if c.into == "" {
		return nil
	}
	return os.MkdirAll(c.to(path.Dir(name)), 0o700)
}

func (c *copier) link(f File) error {
	if c.into == "" {
		return nil
	}
	return os.Symlink(filepath.FromSlash(f.Link), c.to(f.Path))
}

// file reads one file, and copies it with nothing of its mode but whether it is
// executable.
func (c *copier) file(name string) (sum string, runs bool, err error) {
	in, err := repofile.Open(c.dir, filepath.FromSlash(name))
	if err != nil {
		return "", false, reason(err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return "", false, reason(err)
	}
	runs = executable(info)
	h := sha256.New()
	out := io.Writer(h)
	if c.into != "" {
		f, err := os.OpenFile(c.to(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return "", false, err
		}
		defer func() { err = errors.Join(err, f.Chmod(modeOf(runs)), f.Close()) }()
		out = io.MultiWriter(h, f)
	}
	n, err := io.Copy(out, io.LimitReader(in, MostBytes-c.read+1))
	if c.read += n; err == nil && c.read > MostBytes {
		err = &tooMuchError{"it grew while it was read"}
	}
	return hex.EncodeToString(h.Sum(nil)), runs, err
}

func modeOf(runs bool) fs.FileMode {
	if runs {
		return 0o555
	}
	return 0o444
}
