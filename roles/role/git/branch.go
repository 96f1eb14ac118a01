package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/roles/role"
	"sett/runtime/repofile"
)

// BranchRef is the ref of a branch.
func BranchRef(name string) string { return "refs/heads/" + name }

// Branches returns the names of all branches, as far as they can be read.
func (g Repository) Branches(ctx context.Context) []string {
	out, err := g.Run(ctx, "for-each-ref", "--format=%(refname:lstrip=2)", BranchRef(""))
	if err != nil {
		return nil
	}
	return strings.Fields(out)
}

// Worktree is a working tree of a repository.
type Worktree struct {
	Path   string
	Branch string // empty: HEAD is on none
	Gone   bool   // its directory is not there
	Locked bool   // git worktree prune keeps it
	Hidden bool   // it is the main one, and nothing tells its directory: Path is the git directory
}

// Worktrees returns the repository's working trees, the main one included. Of some repositories git
// does not know the main one: it is looked for around the repository's directory, and these.
func (g Repository) Worktrees(ctx context.Context, near ...string) ([]Worktree, error) {
	out, err := g.Run(ctx, "worktree", "list", "--porcelain")
	if err != nil {
		return nil, err
	}
	var all []Worktree
	for i, part := range strings.Split(out, "\n\n") {
		w, bare := listed(part)
		if w.Path != "" && i == 0 && !bare { // the main one comes first
			there, err := uncover(ctx, g, &w, append(near, g.Dir))
			if err != nil {
				return nil, err
			}
			bare = !there
		}
		if w.Path != "" && !bare {
			if _, err := os.Stat(w.Path); errors.Is(err, fs.ErrNotExist) { // a locked one is not called prunable
				w.Gone = true
			}
			all = append(all, w)
		}
	}
	return all, nil
}

// listed reads a working tree as git lists it, and whether it is a bare repository instead.
func listed(part string) (w Worktree, bare bool) {
	for line := range strings.SplitSeq(part, "\n") {
		name, value, _ := strings.Cut(line, " ")
		switch name {
		case "worktree":
			w.Path = value
		case "branch":
			w.Branch = strings.TrimPrefix(value, BranchRef(""))
		case "bare":
			bare = true
		case "prunable":
			w.Gone = true
		case "locked":
			w.Locked = true
		}
	}
	return w, bare
}

// Place names the working tree in a message.
func (w Worktree) Place() string {
	if w.Hidden {
		return "the main working tree of " + role.Clean(w.Path)
	}
	return role.Clean(w.Path)
}

// Forget is the command that frees the branch of a working tree that is not there.
func (w Worktree) Forget() string {
	if w.Locked {
		return "git worktree unlock " + role.ShellWord(w.Path) + " && git worktree prune"
	}
	return "git worktree prune"
}

// unfinished are the operations of git that leave a file or directory of this name in
// the git directory until they end.
var unfinished = []struct{ file, what string }{
	{"rebase-merge", Rebasing}, {"rebase-apply", Rebasing}, {"MERGE_HEAD", "merge"}, {"CHERRY_PICK_HEAD", "cherry-pick"},
	{"REVERT_HEAD", "revert"}, {"sequencer", "cherry-pick"},
}

// Unfinished names the operation that is under way in a working tree, and the branch
// that it will move; empty: none is. A bisect is none: it waits for no file.
func (g Repository) Unfinished(ctx context.Context, tree string) (what, branch string, err error) {
	at, err := directoriesOf(ctx, Repository{tree, g.Environ})
	if err != nil {
		return "", "", err
	}
	for _, u := range unfinished {
		if _, err := os.Lstat(filepath.Join(at.own, u.file)); err != nil {
			continue
		}
		text, _ := repofile.Read("", filepath.Join(at.own, u.file, "head-name"), 64<<10)
		return u.what, strings.TrimPrefix(strings.TrimSpace(string(text)), BranchRef("")), nil
	}
	return "", "", nil
}

// The operations that hold branches.
const (
	Rebasing  = "rebase"
	Bisecting = "bisect"
)

// mostHeld bounds a file that names branches, in bytes.
const mostHeld = 1 << 20

// Holds names the operation under way in the working tree with this git directory that moves a branch, or goes back to it, at
// its end: git itself moves no such branch. Empty: none does. A rebase holds also the branches that --update-refs takes along.
func Holds(gitDir, branch string) string {
	read := func(name string) string {
		text, err := repofile.Read("", filepath.Join(gitDir, filepath.FromSlash(name)), mostHeld)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(text))
	}
	ref := BranchRef(branch)
	if read("rebase-merge/head-name") == ref || read("rebase-apply/head-name") == ref {
		return Rebasing
	}
	for i, line := range strings.Split(read("rebase-merge/update-refs"), "\n") { // a ref, its commit before and the one after
		if i%3 == 0 && strings.TrimSpace(line) == ref {
			return Rebasing
		}
	}
	if from := read("BISECT_START"); from == branch || from == ref {
		return Bisecting
	}
	return ""
}

// HeldIn is Holds for a working tree.
func HeldIn(ctx context.Context, g Repository, tree, branch string) (string, error) {
	at, err := directoriesOf(ctx, Repository{tree, g.Environ})
	if err != nil {
		return "", err
	}
	return Holds(at.own, branch), nil
}

// Tip returns the commit of a branch; empty: there is no such branch.
func (g Repository) Tip(ctx context.Context, branch string) string {
	return g.commit(ctx, BranchRef(branch))
}

// IndexLock returns the lock of a working tree's index; empty: no git changes the index.
func IndexLock(ctx context.Context, g Repository, tree string) (string, error) {
	at, err := directoriesOf(ctx, g.at(tree))
	if err != nil {
		return "", err
	}
	lock := filepath.Join(at.own, "index.lock")
	if _, err := os.Lstat(lock); err != nil {
		return "", nil //nolint:nilerr // there is none
	}
	return lock, nil
}

// fields0 splits the output of -z.
func fields0(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(s, "\x00"), "\x00")
}

// Advance moves a branch from a commit (empty: it has none) to another and, where
// the branch is checked out, the index and the files of that working tree. It refuses to
// overwrite a file that is not committed, and then changes nothing. Where the files cannot all
// be written, as on a full disk, those that were are put back.
func (g Repository) Advance(ctx context.Context, branch, tree, from, to, why string) error {
	ctx = context.WithoutCancel(ctx) // not to be left half done
	old := from
	if old == "" {
		old = strings.Repeat("0", len(to))
	}
	held, err := holdBranch(ctx, g, branch, old, to, why) // before a file is touched
	if err != nil {
		return err
	}
	if tree == "" {
		return held.commit()
	}
	w, was := g.at(tree), []string{from}
	if from == "" {
		was = nil
	}
	way, err := inTheWay(ctx, w, tree, from, to)
	if err == nil && len(way.silent) > 0 { // git refuses the others itself
		err = role.Fail(role.Failed, fmt.Errorf("%s would be overwritten, and is not committed", role.Clean(way.silent[0])), "land again: it has the way on")
	}
	if err != nil {
		held.abort()
		return err
	}
	written := way.written
	back, err := stage(ctx, w, written)
	if err != nil {
		held.abort()
		return err
	}
	_, _, _ = w.exec(ctx, "", []string{"update-index", "-q", "--refresh"}) // its exit code says that files are changed
	if _, err := w.Run(ctx, slices.Concat([]string{"read-tree", "-m", "-u"}, was, []string{to})...); err != nil {
		held.abort()
		if err = unwritten(ctx, w, tree, from, to, written, err); len(written) > 0 {
			err = errors.Join(err, back())
		}
		return err
	}
	if err := held.commit(); err != nil {
		err = errors.Join(err, back()) // those files stay as they are
		if from == "" {
			from, _ = w.EmptyTree(ctx)
		}
		_, failed := w.Run(ctx, "read-tree", "-m", "-u", to, from)
		return errors.Join(err, failed)
	}
	return nil
}

// NewBranch makes a branch at a commit. It fails if there is a branch of this name at another one.
func (g Repository) NewBranch(ctx context.Context, name, commit string) error {
	if _, err := g.Run(ctx, "check-ref-format", "--branch", name); err != nil || strings.HasPrefix(name, "@{") {
		return role.Fail(role.Usage, fmt.Errorf("%s is no name for a branch", role.Clean(name)), "")
	}
	if there := g.Tip(ctx, name); there == commit {
		return nil
	} else if there != "" {
		return role.Fail(role.Failed, fmt.Errorf("there is a branch %s at another commit, %s", role.Clean(name), there[:10]), "take another name")
	}
	_, err := g.Run(ctx, "update-ref", "-m", "sett: checkout", BranchRef(name), commit, strings.Repeat("0", len(commit)))
	return err
}

// Aliased returns the branch of which a name is another name, as git symbolic-ref makes one; else the name.
func Aliased(ctx context.Context, g Repository, name string) (string, error) {
	for range 5 { // as many steps as git takes
		out, err := g.Run(ctx, "symbolic-ref", "-q", BranchRef(name))
		if err != nil {
			return name, nil //nolint:nilerr // it is a branch, or nothing
		}
		to, is := strings.CutPrefix(strings.TrimSpace(out), BranchRef(""))
		if !is {
			return "", fmt.Errorf("it is another name of %s, which is no branch", strings.TrimSpace(out))
		}
		name = to
	}
	return name, nil
}
