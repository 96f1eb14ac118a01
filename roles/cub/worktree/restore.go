package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Keep is the prefix of the refs under which leftovers are kept.
const Keep = "refs/sett/"

// Restore puts HEAD, index and files back to a commit on a branch: the result of Head
// before a tool ran. Branch is empty for a detached HEAD, commit for a
// branch that had no commit. Everything found is first kept as one commit under
// Keep+ref, with message: uncommitted changes, untracked files that are not
// ignored, and as parents the commits that HEAD, the branch or an unfinished
// operation had come to. Kept is the name of that ref, empty when there was
// nothing to keep; then, if the tree is exactly as it was, nothing is changed.
//
//   - Nothing is removed before it is kept. A tree that cannot be kept (full
//     disk) is left as it is, with an error; Restore can be called again.
//   - Killed halfway and called again, it ends in the same state: a mixture of
//     kept and restored files is recognised and not kept twice. If ref exists and
//     there is more to keep, the new commit has the old one as a parent.
//   - Only HEAD, the branch and Keep+ref are written. Other branches, tags and
//     stashes stay as the tool left them. A branch that was deleted is made
//     again; if another now stands in its way ("a/b" for "a"), that is an error.
//   - Ignored files stay, by the ignore rules of the restored commit.
//     Submodules are not entered. The .git of a repository that was made inside
//     the tree is moved into the directory "sett" of ours, its files are kept
//     like all others.
//   - Locks that a killed git left are removed, see breakLocks. A merge, rebase,
//     cherry-pick or revert in progress is ended. Hooks do not run.
//
// The tree must be the caller's alone, and the directory its root.
func (t *Tree) Restore(ctx context.Context, commit, branch, ref, message string) (kept string, err error) {
	r, err := t.newRestoration(ctx, commit, branch, ref, message)
	if err == nil {
		kept, err = r.run(ctx)
		if err != nil && ctx.Err() == nil && r.unlockFiles(ctx) {
			kept, err = r.run(ctx)
		}
	}
	if err != nil {
		return "", fmt.Errorf("restore working tree: %w", err)
	}
	return kept, nil
}

// restoration is one call of Restore, with the present and the desired state.
type restoration struct {
	*Tree
	root, gitDir, commonDir string
	commit, branch          string // full hash
	tree                    string // the commit's
	ref                     string // full name
	message                 string
}

// newRestoration checks the arguments.
func (t *Tree) newRestoration(ctx context.Context, commit, branch, ref, message string) (*restoration, error) {
	root, err := t.Root(ctx)
	if err != nil {
		return nil, err
	}
	r := &restoration{Tree: t, root: root, branch: branch, ref: Keep + ref, message: message}
	if _, err := os.Lstat(filepath.Join(t.dir, ".git")); err != nil {
		return nil, fmt.Errorf("%s is not the root of its repository: %w", t.dir, err)
	}
	names := []string{r.ref}
	if branch != "" {
		names = append(names, branches+branch)
	}
	for _, name := range names {
		if _, err := t.git(ctx, "check-ref-format", name); err != nil {
			return nil, fmt.Errorf("%q is not a name for a ref: %w", name, err)
		}
	}
	dirs, err := t.git(ctx, "rev-parse", "--absolute-git-dir", "--git-common-dir")
	if err != nil {
		return nil, fmt.Errorf("find repository: %w", err)
	}
	r.gitDir, r.commonDir, _ = strings.Cut(line(dirs), "\n")
	if !filepath.IsAbs(r.commonDir) {
		r.commonDir = filepath.Join(root, r.commonDir)
	}
	switch {
	case commit != "":
		if r.commit, err = t.Resolve(ctx, commit); err == nil {
			r.tree, err = t.treeOf(ctx, r.commit)
		}
	case branch != "":
		r.tree, err = t.run(ctx, command{args: []string{"hash-object", "-t", "tree", "-w", "--stdin"}})
	default:
		err = errors.New("neither commit nor branch to go back to")
	}
	r.tree = line(r.tree)
	return r, err
}

// treeOf returns the tree of a commit.
func (t *Tree) treeOf(ctx context.Context, commit string) (string, error) {
	out, err := t.git(ctx, "rev-parse", "--verify", commit+"^{tree}")
	return line(out), err
}

// state is the present state of the repository.
type state struct {
	head, branch string // of HEAD
	tip          string // of the branch to go back to
	old          string // the last kept commit
	operating    bool
	dirty        []string
}

// run keeps and restores, if anything has changed.
func (r *restoration) run(ctx context.Context) (kept string, err error) {
	r.scratch().remove() // of a process that was killed
	if err := r.breakLocks(ctx, r.gitDir, r.commonDir); err != nil {
		return "", err
	}
	if err := r.mendIndex(ctx); err != nil {
		return "", err
	}
	s, err := r.look(ctx)
	if err != nil {
		return "", err
	}
	if !r.asItWas(s) {
		found, err := r.keep(ctx, &s)
		if err != nil {
			return "", fmt.Errorf("keep leftovers: %w", err)
		}
		if err := r.putBack(ctx, s); err != nil {
			return "", err
		}
		if err := r.sweep(ctx, &s, found); err != nil {
			return "", err
		}
		after, err := r.look(ctx)
		if err != nil {
			return "", err
		}
		if !r.asItWas(after) {
			return "", fmt.Errorf("still different: %s", describe(after))
		}
	}
	if s.old == "" {
		return "", nil
	}
	return r.ref, nil
}

// look reads the state.
func (r *restoration) look(ctx context.Context) (s state, err error) {
	if s.head, s.branch, err = r.Head(ctx); err != nil {
		return s, err
	}
	if r.branch != "" {
		if s.tip, err = r.commitOf(ctx, branches+r.branch); err != nil {
			return s, fmt.Errorf("read branch: %w", err)
		}
	}
	if s.old, err = r.commitOf(ctx, r.ref); err != nil {
		return s, fmt.Errorf("read leftovers: %w", err)
	}
	if s.operating, err = operating(r.gitDir); err != nil {
		return s, err
	}
	s.dirty, err = r.Dirty(ctx)
	return s, err
}

// asItWas says that there is nothing to restore.
func (r *restoration) asItWas(s state) bool {
	return s.head == r.commit && s.branch == r.branch && (r.branch == "" || s.tip == r.commit) &&
		!s.operating && len(s.dirty) == 0
}

// describe returns one line about the tree.
func describe(s state) string {
	const few = 3
	out := fmt.Sprintf("HEAD is %s on %q, operation in progress: %t", s.head, s.branch, s.operating)
	for i, path := range s.dirty {
		if i == few {
			return fmt.Sprintf("%s, and %d more", out, len(s.dirty)-few)
		}
		out += fmt.Sprintf(", %q", path)
	}
	return out
}

// mendIndex replaces an index that git cannot read: everything it may have held
// is in files, or lost with it.
func (r *restoration) mendIndex(ctx context.Context) error {
	_, err := r.git(ctx, "ls-files", "--unmerged", "-z")
	if exitCode(err) == 0 {
		return err
	}
	index := filepath.Join(r.gitDir, "index")
	if err := os.Rename(index, index+".broken"); err != nil {
		return fmt.Errorf("put broken index aside: %w", err)
	}
	_, err = r.git(ctx, "read-tree", r.tree)
	return err
}

// putBack sets branch and HEAD, then index and files. Files come last: until
// they are done, the tree differs from HEAD and a second call goes on.
func (r *restoration) putBack(ctx context.Context, s state) error {
	if err := dropOperation(r.gitDir); err != nil {
		return err
	}
	const why = "sett: restore"
	full := branches + r.branch
	var steps [][]string
	switch {
	case r.branch == "":
		if s.branch != "" || s.head != r.commit {
			steps = append(steps, []string{"update-ref", "--no-deref", "-m", why, "HEAD", r.commit})
		}
	case r.commit == "" && s.tip != "":
		steps = append(steps, []string{"update-ref", "-m", why, "-d", full, s.tip})
	case s.tip != r.commit:
		steps = append(steps, []string{"update-ref", "-m", why, full, r.commit})
	}
	if r.branch != "" && s.branch != r.branch {
		steps = append(steps, []string{"symbolic-ref", "-m", why, "HEAD", full})
	}
	// The index alone first: files that only the tool had tracked are untracked then,
	// and sweep removes them, but for ignored files. A tool may have committed the
	// user's ignored files, too.
	steps = append(steps, []string{"read-tree", "--reset", r.tree}, []string{"read-tree", "--reset", "-u", r.tree})
	for _, args := range steps {
		if _, err := r.git(ctx, args...); err != nil {
			return err
		}
	}
	return nil
}
