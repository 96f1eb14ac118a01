package store

import (
	"context"
	hashes "crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Care is what an agent's trees have and leave out beside the files of a commit. All paths are
// clean, have slashes, and none of git's names or patterns: contract/config checks them.
type Care struct {
	Keep   []string `json:"keep,omitempty"`   // paths that stay from one grant to the next
	Copy   []string `json:"copy,omitempty"`   // files of which each grant gets copies
	Sparse []string `json:"sparse,omitempty"` // folders that it has; none: all
	From   string   `json:"-"`                // the directory of the files to copy, trusted
}

// Own are the paths that never get into a commit.
func (c Care) Own() []string { return slices.Concat(c.Keep, c.Copy) }

// CaredFor has a tree cared for in this way.
func CaredFor(t *Tree, c Care) *Tree {
	t.care = c
	return t
}

// keptDir holds the kept paths of a tree while its files change, by asideName.
const keptDir = "kept"

func asideName(path string) string {
	sum := hashes.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16])
}

// putAside moves the kept paths out of the tree. It follows no link: one at a kept path, or on the way to
// it, is a tool's, and goes with the tree. Whatever lay aside before and is kept no more is removed.
func putAside(t *Tree) error {
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	wanted := map[string]bool{}
	for _, p := range t.care.Keep {
		name := asideName(p)
		wanted[name] = true
		if !reachable(root, p) {
			continue
		}
		if err := errors.Join(dropAside(t, name), root.MkdirAll(keptDir, 0o700)); err != nil {
			return err
		}
		if err := root.Rename(path.Join("tree", p), path.Join(keptDir, name)); err != nil && !gone(err) {
			return fmt.Errorf("keep %s: %w", p, err)
		}
	}
	left, err := os.ReadDir(filepath.Join(t.dir, keptDir))
	if err != nil && !gone(err) {
		return err
	}
	for _, l := range left {
		if !wanted[l.Name()] {
			err = errors.Join(err, dropAside(t, l.Name()))
		}
	}
	if gone(err) {
		return nil
	}
	return err
}

func dropAside(t *Tree, name string) error { return RemoveAll(filepath.Join(t.dir, keptDir, name)) }

// reachable says whether a path of the tree is a folder or a plain file, below folders alone. It lets the
// owner change those.
func reachable(root *os.Root, p string) bool {
	at := "tree"
	parts := strings.Split(p, "/")
	for i, part := range parts {
		at = path.Join(at, part)
		info, err := root.Lstat(at)
		switch {
		case err != nil:
			return false
		case info.IsDir():
			if info.Mode().Perm()&0o700 != 0o700 && root.Chmod(at, info.Mode().Perm()|0o700) != nil {
				return false
			}
		case i < len(parts)-1 || !info.Mode().IsRegular():
			return false
		}
	}
	return true
}

// putBack moves the kept paths into the tree again, and copies files there. A path that the commit
// has, or the way to which it has as a file, is the commit's. It returns the paths that are the agent's own.
func putBack(t *Tree) (own []string, err error) {
	if len(t.care.Keep)+len(t.care.Copy) == 0 {
		return nil, nil
	}
	has, err := t.entries()
	if err != nil && !gone(err) { // gone: there is no commit
		return nil, err
	}
	root, err := os.OpenRoot(t.dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, p := range t.care.Own() {
		name := path.Join(keptDir, asideName(p))
		if has.has(p) || !open(root, path.Dir(p)) {
			if err := dropAside(t, asideName(p)); err != nil {
				return own, err
			}
			continue
		}
		own = append(own, p)
		if slices.Contains(t.care.Copy, p) {
			err = copyInto(t, root, p)
		} else if err = root.Rename(name, path.Join("tree", p)); gone(err) {
			err = nil // there is none yet
		}
		if err != nil {
			return own, fmt.Errorf("put %s into the tree: %w", p, err)
		}
	}
	return own, nil
}

// open makes the folders on the way to a path of the tree, and says whether all are folders.
func open(root *os.Root, dir string) bool {
	at := "tree"
	for _, part := range strings.Split(dir, "/") {
		if part == "." {
			continue
		}
		at = path.Join(at, part)
		info, err := root.Lstat(at)
		if gone(err) {
			err = root.Mkdir(at, 0o700)
		} else if err == nil && !info.IsDir() {
			return false
		}
		if err != nil {
			return false
		}
	}
	return true
}

// copyInto copies a file into the tree. One that is not there is left out.
func copyInto(t *Tree, root *os.Root, p string) error {
	from, err := os.OpenRoot(t.care.From)
	if err != nil {
		return leftOut(err)
	}
	defer from.Close()
	source, err := from.Open(p)
	if err != nil {
		return leftOut(err)
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := root.OpenFile(path.Join("tree", p), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

func leftOut(err error) error {
	if gone(err) {
		return nil
	}
	return err
}

// has says whether a commit has a path, something below it, or the way to it as a file.
func (e *entries) has(p string) bool {
	if e == nil {
		return false
	}
	if _, file := e.files[p]; file || e.folders[p] || e.hidden[p] {
		return true
	}
	for in := path.Dir(p); in != "."; in = path.Dir(in) {
		if _, file := e.files[in]; file || e.hidden[in] {
			return true
		}
	}
	return false
}

// beside are the pathspecs of everything in a tree but the agent's own paths, and git's variable that
// they need. Git names none below a link, where there is nothing of the tree's.
func (c Changes) beside(dir string) (env, specs []string) {
	specs = []string{"--", "."}
	for _, p := range c.Own {
		if !linked(dir, p) {
			specs = append(specs, ":(exclude,literal)"+p)
			env = []string{"GIT_LITERAL_PATHSPECS=0"}
		}
	}
	return env, specs
}

// linked says whether the way to a path of the tree has anything but folders.
func linked(dir, p string) bool {
	for in := path.Dir(p); in != "."; in = path.Dir(in) {
		if info, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(in))); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}

// ErrOwn says that a commit has a path that stays in its agent's tree.
var ErrOwn = errors.New("the commit has a path that workspace.keep or workspace.copy of sett.yml names")

// without refuses a commit that changes one of these paths, or any commit that it brings.
func without(ctx context.Context, s *Store, commit string, known, own, env []string) error {
	if len(own) == 0 {
		return nil
	}
	args := append([]string{"rev-list", "--max-count=1", "--full-history", "--stdin", "--"}, own...)
	out, err := s.run(ctx, command{args: args, env: env, stdin: reach(commit, known)})
	if err != nil {
		return refusal(err)
	}
	if out != "" {
		return fmt.Errorf("%w: %s", ErrOwn, strings.Join(own, ", "))
	}
	return nil
}

// mark is a text that changes with the care.
func (c Care) mark() string {
	if len(c.Copy)+len(c.Sparse) == 0 {
		return ""
	}
	text, err := json.Marshal(c)
	if err != nil {
		return ""
	}
	sum := hashes.Sum256(append(text, c.From...))
	return " " + hex.EncodeToString(sum[:16])
}
