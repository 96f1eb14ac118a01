package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Tree is the place of a private tree: one agent, or one worker, works in it at a time.
// Its directories are made once and only emptied after that, since they may be mounted
// into a container.
type Tree struct {
	store *Store
	dir   string // trusted
	seen  Seen
	slot  string
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

// Make makes the directories of the place. They belong to the owner of the store.
func (t *Tree) Make() error {
	for _, dir := range []string{t.dir, t.Dir(), t.GitDir()} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	return inherit(t.store.Dir, t.dir, t.Dir(), t.GitDir())
}

// Plan is the state in which a tool finds its tree.
type Plan struct {
	Commit   string // of the store; empty: a repository without a commit
	Branch   string // checked out; empty or no name of a branch: HEAD is detached
	User     Author // of the commits that the tool makes; empty: git finds one
	ReadOnly bool   // the tool cannot write its files
}

// Prepare empties the tree, whatever a tool left there, and checks out a commit with a
// repository of the tool's own: it has that one branch, borrows the store's objects, and
// nothing of the last grant. A ref holds the commit.
func (t *Tree) Prepare(ctx context.Context, p Plan) error {
	if err := t.Make(); err != nil {
		return fmt.Errorf("prepare tree: %w", err)
	}
	if p.Commit != "" && t.store.loose(Start(t.slot)) != p.Commit {
		if err := t.store.Hold(ctx, Start(t.slot), p.Commit); err != nil {
			return fmt.Errorf("prepare tree: %w", err)
		}
	}
	var err error
	if !t.untouched(p) {
		err = t.renew(ctx, p.Commit)
	}
	if err == nil {
		err = t.lendRepository(p)
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
	return err
}

// markFile tells the commit of a tree that nobody could write since it was prepared.
func (t *Tree) markFile() string { return filepath.Join(t.dir, "untouched") }

// walled says whether the tool cannot write its tree: in a container the tree of a
// read-only agent is mounted so, and its repository lies elsewhere.
func (t *Tree) walled(p Plan) bool { return p.ReadOnly && p.Commit != "" && t.seen.Git != t.GitDir() }

// untouched says whether the tree is still as it was prepared for this commit.
func (t *Tree) untouched(p Plan) bool {
	if !t.walled(p) {
		return false
	}
	text, err := os.ReadFile(t.markFile())
	return err == nil && string(text) == p.Commit+" "+boot()
}

// mark remembers that nobody can write the tree, until the machine starts again: by
// then files may be lost that were not yet on disk.
func (t *Tree) mark(p Plan) error {
	if !t.walled(p) || boot() == "" || t.untouched(p) {
		return nil
	}
	return os.WriteFile(t.markFile(), []byte(p.Commit+" "+boot()), 0o600)
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
func (t *Tree) git(ctx context.Context, stdin string, args ...string) (string, error) {
	return t.store.run(ctx, command{
		args: args, dir: t.Dir(), stdin: stdin,
		env: []string{"GIT_WORK_TREE=" + t.Dir(), "GIT_INDEX_FILE=" + t.index()},
	})
}

// checkOut makes the tree that of a commit.
func (t *Tree) checkOut(ctx context.Context, commit string) error {
	if _, err := t.disarm(disarming{}); err != nil {
		return err
	}
	_ = os.Remove(t.index() + ".lock") // of a run that was killed; this place has one user at a time
	if commit == "" {
		return t.clear()
	}
	if _, err := os.Stat(t.index()); gone(err) {
		if err := t.clear(); err != nil { // a checkout that was killed before it had an index
			return err
		}
	} else if _, err := t.git(ctx, "", "clean", "-ffdxq"); err != nil {
		return err
	}
	if _, err := t.git(ctx, "", "read-tree", "--reset", "-u", commit); err != nil {
		return err
	}
	return nil
}

// Tidy removes the files that a grant left, and its repository: the tree has those of a commit
// again, from which the next one is prepared soon. Where that is not possible it becomes empty.
func (t *Tree) Tidy(ctx context.Context, commit string) error {
	if err := t.checkOut(ctx, commit); err == nil || ctx.Err() != nil {
		return err
	}
	return t.clear()
}

// Size is the disk that the place takes, in bytes.
func (t *Tree) Size(ctx context.Context) (int64, error) {
	own, shared, err := Usage(ctx, t.dir)
	return own + shared, err
}

// Empty removes all files of the tree. The next grant's are made anew.
func (t *Tree) Empty() error { return t.clear() }

// clear removes everything from the tree, with modes that let nobody, and its index.
func (t *Tree) clear() error {
	if err := os.Remove(t.markFile()); err != nil && !gone(err) {
		return err
	}
	if err := os.Remove(t.index()); err != nil && !gone(err) {
		return err
	}
	return empty(t.Dir())
}

// empty removes everything from a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes a file, or a directory with everything below it, also where modes
// forbid that. It follows no link.
func RemoveAll(path string) error {
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

var branchForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\p{L}\p{N}_][\p{L}\p{N}_+=%-]*([./][\p{L}\p{N}_][\p{L}\p{N}_+=%-]*)*$`)
})

// plainBranch says whether a name can be a branch and a path: a file below refs/heads.
func plainBranch(name string) bool {
	return len(name) <= 200 && branchForm().MatchString(name) && !strings.HasSuffix(name, ".lock") && !strings.Contains(name, ".lock/")
}

// lendRepository makes the tool's repository: with one branch, a copy of the index, and the store's objects.
func (t *Tree) lendRepository(p Plan) error {
	format, err := t.store.written()
	if err != nil {
		return err
	}
	if err := empty(t.GitDir()); err != nil {
		return err
	}
	dir := filepath.Join(t.Dir(), ".git")
	if p.ReadOnly {
		if err := os.WriteFile(dir, []byte("gitdir: "+t.seen.Git+"\n"), 0o600); err != nil {
			return err
		}
		dir = t.GitDir()
	}
	for _, d := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info", "hooks"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o700); err != nil {
			return err
		}
	}
	user := ""
	if p.User.Name != "" {
		user = fmt.Sprintf("[user]\n\tname = %q\n\temail = %q\n", p.User.Name, p.User.Email)
	}
	files := map[string]string{
		"config":                  configOf(format, false) + "\tlogAllRefUpdates = true\n" + user + "[gc]\n\tauto = 0\n",
		"objects/info/alternates": t.seen.Objects + "\n",
		"HEAD":                    p.Commit + "\n",
	}
	if branch := p.Branch; plainBranch(branch) || p.Commit == "" {
		if !plainBranch(branch) {
			branch = "main"
		}
		files["HEAD"] = "ref: refs/heads/" + branch + "\n"
		if p.Commit != "" {
			files["refs/heads/"+branch] = p.Commit + "\n"
		}
	}
	if ends, err := Boundary(t.store.Dir); err != nil {
		return err
	} else if len(ends) > 0 {
		files[shallowFile] = textOf(ends)
	}
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
	}
	return copyFile(t.index(), filepath.Join(dir, "index"))
}

// copyFile copies a trusted file; one that is not there is no error. The copy has the same
// time: git takes files that are not older than its index for changed, until it has looked.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if gone(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	if err = errors.Join(err, target.Close()); err != nil {
		return err
	}
	info, err := source.Stat()
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return err
}
