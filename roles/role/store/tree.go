package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"sett/roles/role"
)

// Tree is the place of a private tree: one agent, or one worker, works in it at a time.
// Its directories are made once and only emptied after that, since they may be mounted
// into a container.
type Tree struct {
	store *Store
	dir   string // trusted
	seen  Seen
	slot  string
	care  Care
	own   []string // the paths that are the agent's own, once it is prepared
	stuck []Stuck
}

// Seen are directories as the tool sees them, which may be in a container. An empty one
// is where it is for everybody.
type Seen struct {
	Objects string // the store's
	Git     string // the repository of a read-only tree
}

// Tree returns the place of that name in a directory, without a look at it.
func (s *Store) Tree(dir, slot string, seen Seen) *Tree {
	t := &Tree{store: s, dir: filepath.Join(dir, slot), seen: seen, slot: slot}
	t.seen.Objects, t.seen.Git = cmp.Or(seen.Objects, s.Objects()), cmp.Or(seen.Git, t.GitDir())
	return t
}

// Dir is the tool's working directory.
func (t *Tree) Dir() string { return filepath.Join(t.dir, "tree") }

// toolGit is the repository of the tool, relative to the place.
const toolGit = "tree/.git"

func (t *Tree) index() string { return filepath.Join(t.dir, "index") }

// Offer is a commit that the tool made in this tree.
func (t *Tree) Offer(hash string, known []string) Offer {
	return Offer{Hash: hash, Root: t.dir, Objects: toolGit + "/objects", Known: known}
}

// GitDir is the directory of the tool's repository where its tree is read-only: it lies
// outside, and can be written.
func (t *Tree) GitDir() string { return filepath.Join(t.dir, "git") }

// TmpDir is a directory for temporary files of a tool that can write nothing else.
func (t *Tree) TmpDir() string { return filepath.Join(t.dir, "tmp") }

// Place is the directory that holds all of the tree's.
func (t *Tree) Place() string { return t.dir }

// Stands says whether the tool's working directory is still there. In local mode without walls a
// tool can remove it, or put something else in its place.
func (t *Tree) Stands() error {
	return standing(os.Lstat(t.Dir()))
}

// standing judges a look at a working directory.
func standing(info fs.FileInfo, err error) error {
	switch {
	case IsTrouble(err):
		return fmt.Errorf("look at the tree: %w", role.Cause(err))
	case err != nil, !info.IsDir():
		return ErrNoTree
	}
	return nil
}

// ErrNoTree says that a tool's working directory is not where it was. The tool, or anybody else, took it away.
var ErrNoTree = errors.New("its working directory is gone, with all its changes")

// Make makes the directories of the place. They belong to the owner of the store.
func (t *Tree) Make() error {
	for _, dir := range []string{t.dir, t.Dir(), t.GitDir()} {
		if err := MakeDir(dir); err != nil {
			return err
		}
	}
	return inherit(t.store.Dir, t.dir, t.Dir(), t.GitDir())
}

// MakeDir makes a directory where a tool may have removed it, or put something else.
func MakeDir(dir string) error {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() {
		if err := os.Remove(dir); err != nil {
			return err
		}
	}
	return os.MkdirAll(dir, 0o700)
}

// Plan is the state in which a tool finds its tree.
type Plan struct {
	Commit   string // of the store; empty: a repository without a commit
	Branch   string // checked out; empty or no name of a branch: HEAD is detached
	User     Author // of the commits that the tool makes; empty: git finds one
	ReadOnly bool   // the tool cannot write its files
	Refs     []Ref  // that its repository has, too: those of a leftover, from which the tree goes on
}

// Prepare empties the tree, whatever a tool left there, and checks out a commit with a
// repository of the tool's own: it has that one branch, borrows the store's objects, and
// nothing of the last grant. A ref holds the commit.
func (t *Tree) Prepare(ctx context.Context, p Plan) error {
	if err := t.Make(); err != nil {
		return fmt.Errorf("prepare tree: %w", err)
	}
	if err := reclaim(t); err != nil {
		return fmt.Errorf("prepare tree: %w", err)
	}
	if p.Commit != "" && t.store.loose(Start(t.slot)) != p.Commit {
		if err := t.store.Hold(ctx, Start(t.slot), p.Commit); err != nil {
			return fmt.Errorf("prepare tree: %w", err)
		}
	}
	var err error
	if open := openly(t, p); open && !unchanged(t, p.Commit) {
		if err = t.renew(ctx, p.Commit); err == nil {
			err = check(t, p.Commit)
		}
	} else if !open && !t.untouched(p) {
		err = t.renew(ctx, p.Commit)
	}
	if err == nil {
		err = t.lendRepository(p)
		if lasts(err, t.GitDir()) && vacate(t, t.GitDir()) == nil {
			err = t.lendRepository(p)
		}
	}
	if err == nil {
		err = t.mark(p)
	}
	if err != nil {
		return fmt.Errorf("prepare tree: %w", err)
	}
	return nil
}

// renew empties the tree and checks a commit out; where what is left cannot be mended, all
// of it is made anew.
func (t *Tree) renew(ctx context.Context, commit string) error {
	if err := os.Remove(t.markFile()); err != nil && !gone(err) {
		return err
	}
	err := t.checkOut(ctx, commit)
	if err != nil && ctx.Err() == nil && !errors.Is(err, ErrNoGit) {
		if err = t.clear(); err == nil {
			err = t.checkOut(ctx, commit)
		}
	}
	if lasts(err, t.dir) && ctx.Err() == nil {
		if err = raze(t); err == nil {
			err = t.checkOut(ctx, commit)
		}
	}
	return err
}

// raze removes everything from the place, also what a tool has put beside its tree. The directories
// stay, since they may be mounted into a container.
func raze(t *Tree) error {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	dirs := []string{t.Dir(), t.GitDir(), t.TmpDir()}
	for _, e := range entries {
		path := filepath.Join(t.dir, e.Name())
		if e.IsDir() && slices.Contains(dirs, path) {
			err = errors.Join(err, vacate(t, path))
		} else if !strings.HasPrefix(e.Name(), stuckPrefix) {
			err = errors.Join(err, discard(t, path))
		}
	}
	return err
}

// markFile tells the commit of a tree that nobody could write since it was prepared.
func (t *Tree) markFile() string { return filepath.Join(t.dir, "untouched") }

// walled says whether the tool cannot write its tree: in a container the tree of a
// read-only agent is mounted so, and its repository lies elsewhere.
func (t *Tree) walled(p Plan) bool { return p.ReadOnly && p.Commit != "" && t.seen.Git != t.GitDir() }

// untouched says whether the tree is still as it was prepared for this commit.
func (t *Tree) untouched(p Plan) bool {
	return t.walled(p) && t.marked(p.Commit)
}

// marked says whether nobody could write the tree since this commit was checked out in it.
func (t *Tree) marked(commit string) bool {
	text, err := os.ReadFile(t.markFile())
	return err == nil && string(text) == commit+" "+boot()+t.care.mark()+contentMark(t.store)
}

// mark remembers that nobody can write the tree, until the machine starts again: by
// then files may be lost that were not yet on disk.
func (t *Tree) mark(p Plan) error {
	if !t.walled(p) || boot() == "" || t.untouched(p) {
		return nil
	}
	return os.WriteFile(t.markFile(), []byte(p.Commit+" "+boot()+t.care.mark()+contentMark(t.store)), 0o600)
}

// boot is the name of the machine's run since it was started; empty: unknown.
var boot = sync.OnceValue(func() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
})

// git runs git on the tree with the trusted index.
func (t *Tree) git(ctx context.Context, env []string, args ...string) (string, error) {
	return t.store.run(ctx, commandOn(t, env, args...))
}

func commandOn(t *Tree, env []string, args ...string) command {
	return command{args: args, dir: t.Dir(), env: append([]string{"GIT_WORK_TREE=" + t.Dir(), "GIT_INDEX_FILE=" + t.index()}, env...)}
}

// checkOut makes the tree that of a commit, with the agent's own paths.
func (t *Tree) checkOut(ctx context.Context, commit string) error {
	if err := putAside(t); err != nil {
		return err
	}
	if err := checkOutFiles(ctx, t, commit); err != nil {
		return err // they stay aside until the next checkout
	}
	var err error
	t.own, err = putBack(t)
	return err
}

// Own returns the paths of the prepared tree that are the agent's own: no commit may have them.
func (t *Tree) Own() []string { return t.own }

func checkOutFiles(ctx context.Context, t *Tree, commit string) error {
	if err := resparse(t); err != nil {
		return err
	}
	unlockIndex(t)
	has, err := t.entries()
	switch {
	case commit == "", errors.Is(err, errIndex), gone(err): // gone: a checkout that was killed before it had an index
		if err = t.clear(); commit == "" {
			return err
		}
	case err == nil:
		err = t.sweep(has)
	}
	if err != nil {
		return err
	}
	c, err := sparsely(t, commandOn(t, nil, "read-tree", "--reset", "-u", commit))
	if err == nil {
		_, err = t.store.run(ctx, c)
	}
	if err == nil {
		err = withModules(ctx, t)
	}
	if err == nil {
		err = withContent(ctx, t)
	}
	return err
}

// unlockIndex removes the lock of a run of git that was killed: this place has one user at a time.
func unlockIndex(t *Tree) { _ = os.Remove(t.index() + ".lock") }

// entries are those of the trusted index.
func (t *Tree) entries() (*entries, error) {
	format, err := t.store.written()
	if err != nil {
		return nil, err
	}
	return readIndex(t.index(), hashSizes[format])
}

// hashSizes are the bytes of a hash.
var hashSizes = map[string]int{"sha1": 20, "sha256": 32}

// Tidy removes the files that a grant left, and its repository: the tree has those of a commit
// again, from which the next one is prepared soon. Where that is not possible it becomes empty.
// Of a tree that nobody could write only the repository goes.
func (t *Tree) Tidy(ctx context.Context, commit string) error {
	if t.marked(commit) || unchanged(t, commit) {
		return empty(t.GitDir())
	}
	if err := t.checkOut(ctx, commit); err != nil {
		if ctx.Err() != nil {
			return err
		}
		return t.clear()
	}
	return empty(t.GitDir())
}

// Size is the disk that the place takes, in bytes.
func (t *Tree) Size(ctx context.Context) (int64, error) {
	own, shared, err := Usage(ctx, t.dir)
	return own + shared, err
}

// Empty removes all files of the tree. The next grant's are made anew.
func (t *Tree) Empty() error {
	return errors.Join(t.clear(), discard(t, filepath.Join(t.dir, keptDir)))
}

// clear removes everything from the tree, with modes that let nobody, and its index. A tree that cannot be emptied is set aside.
func (t *Tree) clear() error {
	if err := os.Remove(t.markFile()); err != nil && !gone(err) {
		return err
	}
	if err := os.Remove(t.index()); err != nil && !gone(err) {
		return err
	}
	return vacate(t, t.Dir())
}

// empty removes everything from a directory, as far as that is possible. The error is that of the first entry that stays.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	mounts := mountsIn(dir)
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		no := mounts.bar(path)
		if no == nil {
			no = removeAll(path)
		}
		if err == nil {
			err = no
		}
	}
	return err
}

// RemoveAll removes a file, or a directory with everything below it, also where modes
// forbid that. It follows no link, and goes into no mount: its files lie elsewhere, and are somebody's.
func RemoveAll(path string) error {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		if err := mountsBelow(path).bar(path); err != nil {
			return err
		}
	}
	return removeAll(path)
}

// removeAll is RemoveAll where nothing is mounted, which the caller has seen.
func removeAll(path string) error {
	if err := os.RemoveAll(path); err == nil {
		return nil
	}
	_ = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() { // before it is read
			_ = os.Chmod(p, 0o700)
		}
		return nil
	})
	return os.RemoveAll(path)
}
