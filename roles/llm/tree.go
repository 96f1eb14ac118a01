package llm

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

	"sett/blackboard"
)

const (
	mostFile  = 4 << 20 // bytes of a file that is looked at
	mostLinks = 40      // on the way to a file
	mostList  = 20_000  // entries that a walk looks at
)

// tree is the agent's private tree. No path leads out of it, and none into a .git to write there.
type tree struct {
	dir      string // absolute, without links
	root     *os.Root
	writable bool
	changed  bool // by the model
}

// openTree opens the tree; nil: the agent has none.
func openTree(dir string, mode blackboard.WorkspaceMode) (*tree, error) {
	if mode != blackboard.ReadOnly && mode != blackboard.ReadWrite {
		return nil, nil
	}
	whole, err := filepath.Abs(dir)
	if err == nil {
		whole, err = filepath.EvalSymlinks(whole)
	}
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	root, err := os.OpenRoot(whole)
	if err != nil {
		return nil, fmt.Errorf("open the tree: %w", err)
	}
	return &tree{dir: whole, root: root, writable: mode == blackboard.ReadWrite}, nil
}

func (t *tree) close() {
	if t != nil {
		_ = t.root.Close()
	}
}

var (
	errOutside = errors.New("the path leads out of the working directory")
	errGit     = errors.New("the repository .git is not to be written")
)

// resolve follows all links of a path, and returns the place below the root that it leads
// to, which need not exist. Slashes separate names.
func (t *tree) resolve(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", errors.New("the path has a NUL byte")
	}
	rest, err := t.parts(name)
	if err != nil {
		return "", err
	}
	at, links := ".", 0
	for len(rest) > 0 {
		part := rest[0]
		rest = rest[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if at == "." {
				return "", errOutside
			}
			at = path.Dir(at)
			continue
		}
		next := path.Join(at, part)
		info, err := t.root.Lstat(next)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			at = next // if it is not there, opening it says so
			continue
		}
		if links++; links > mostLinks {
			return "", errors.New("the path has too many links")
		}
		target, err := t.root.Readlink(next)
		if err != nil {
			return "", err
		}
		if path.IsAbs(target) {
			at = "."
		}
		more, err := t.parts(target)
		if err != nil {
			return "", err
		}
		rest = slices.Concat(more, rest)
	}
	return at, nil
}

// parts splits a path. An absolute one must be below the tree.
func (t *tree) parts(name string) ([]string, error) {
	if path.IsAbs(name) {
		below, err := filepath.Rel(t.dir, path.Clean(name))
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			return nil, errOutside
		}
		name = below
	}
	return strings.Split(name, "/"), nil
}

// read returns the text of a file.
func (t *tree) read(at string) (string, error) {
	info, err := t.root.Stat(at)
	switch {
	case err != nil:
		return "", plain(err)
	case info.IsDir():
		return "", errors.New("it is a directory")
	case !info.Mode().IsRegular():
		return "", errors.New("it is no ordinary file")
	case info.Size() > mostFile:
		return "", fmt.Errorf("the file has %d bytes; at most %d can be looked at", info.Size(), mostFile)
	}
	f, err := t.root.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", plain(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostFile+1))
	return string(b), plain(err)
}

// write stores a file, with the folders above it.
func (t *tree) write(at, text string) error {
	if err := t.mayWrite(at); err != nil {
		return err
	}
	if info, err := t.root.Lstat(at); err == nil && !info.Mode().IsRegular() {
		return errors.New("it is no ordinary file")
	}
	if dir := path.Dir(at); dir != "." {
		if err := t.root.MkdirAll(dir, 0o777); err != nil {
			return plain(err)
		}
	}
	if err := t.root.WriteFile(at, []byte(text), 0o666); err != nil {
		return plain(err)
	}
	t.changed = true
	return nil
}

// mayWrite says whether a resolved path may be written. A .git is none of the model's
// business at any depth: its hooks and settings would be programs.
func (t *tree) mayWrite(at string) error {
	if !t.writable {
		return errors.New("the working directory is read-only")
	}
	for part := range strings.SplitSeq(at, "/") {
		if strings.EqualFold(part, ".git") {
			return errGit
		}
	}
	if at == "." {
		return errors.New("it is a directory")
	}
	return nil
}

// plain drops the operation of an error, which the reply has already.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		if errors.Is(p.Err, fs.ErrNotExist) {
			return errors.New("there is no such file")
		}
		return p.Err
	}
	return err
}

// walk visits the files below a place in their order, without those of .git, and says
// whether it saw all.
func (t *tree) walk(at string, visit func(name string, d fs.DirEntry) error) (all bool, err error) {
	seen := 0
	err = fs.WalkDir(t.root.FS(), at, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d == nil:
			return err
		case err != nil:
			return fs.SkipDir // a folder that cannot be read
		case strings.EqualFold(d.Name(), ".git") && d.IsDir():
			return fs.SkipDir
		case strings.EqualFold(d.Name(), ".git"):
			return nil
		}
		if seen++; seen > mostList {
			return fs.SkipAll
		}
		return visit(name, d)
	})
	return seen <= mostList, err
}
