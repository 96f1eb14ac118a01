package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sett/roles/role"
	"sett/roles/role/git"
	"sett/runtime/repofile"
)

// User is the repository of the user, by its git directory, the one that all its
// working trees share. Nothing of its configuration is run here.
type User struct{ store *Store }

// OpenUser returns the repository with this git directory.
func OpenUser(gitDir string) *User { return &User{&Store{Dir: gitDir, persons: true}} }

// tip returns the commit of a branch; empty: there is no such branch.
func (u *User) tip(ctx context.Context, branch string) (string, error) {
	if ref := git.BranchRef(branch); filepath.IsLocal(ref) {
		text, err := os.ReadFile(filepath.Join(u.store.Dir, filepath.FromSlash(ref)))
		if commit := asHash(line(string(text))); err == nil && commit != "" {
			return commit, nil // git need not be asked
		}
	}
	return u.store.Commit(ctx, git.BranchRef(branch))
}

// named returns the objects that refs of the repository name.
func (u *User) named(ctx context.Context) ([]string, error) {
	out, err := u.store.git(ctx, "for-each-ref", "--format=%(objectname)")
	return strings.Fields(out), err
}

// has says whether a commit is another's ancestor there, or that commit itself.
func (u *User) has(ctx context.Context, commit, ancestor string) (bool, error) {
	if commit == "" {
		return false, nil
	}
	return Reaches(ctx, u.store, commit, ancestor)
}

// inUse says why a branch must stay where it is: a working tree has it, or an operation of
// git there will move it. Empty: it may be moved.
func (u *User) inUse(ctx context.Context, branch string) (string, error) {
	if _, err := os.Stat(filepath.Join(u.store.Dir, "reftable")); err == nil {
		return "the repository keeps its branches in reftables: Sett cannot see which are checked out", nil
	}
	if text, err := os.ReadFile(filepath.Join(u.store.Dir, filepath.FromSlash(git.BranchRef(branch)))); err == nil && strings.HasPrefix(string(text), "ref:") {
		to := strings.TrimPrefix(strings.TrimSpace(strings.TrimPrefix(string(text), "ref:")), git.BranchRef(""))
		return fmt.Sprintf("branch %s is another name of %s: land: {onto: %s} in sett.yml lands there", branch, to, to), nil
	}
	all := []string{}
	if busyWith(u.store.Dir, branch) != "" { // else it does not matter whether it has a working tree
		bare, err := u.bare(ctx)
		if err != nil {
			return "", err
		}
		if !bare {
			all = append(all, u.store.Dir)
		}
	}
	linked, err := os.ReadDir(filepath.Join(u.store.Dir, "worktrees"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look at the working trees: %w", err)
	}
	for _, w := range linked {
		all = append(all, filepath.Join(u.store.Dir, "worktrees", w.Name()))
	}
	for _, dir := range all {
		if what := busyWith(dir, branch); what != "" {
			if dir == u.store.Dir {
				return fmt.Sprintf("branch %s %s in your working tree", branch, what), nil
			}
			return fmt.Sprintf("branch %s %s in the working tree %s", branch, what, filepath.Base(dir)), nil
		}
	}
	return "", nil
}

// bare says whether the repository has no main working tree.
func (u *User) bare(ctx context.Context) (bool, error) {
	out, err := u.store.git(ctx, "config", "--type=bool", "--default=false", "--get", "core.bare")
	return line(out) == "true", err
}

// held are the words for a branch that an operation of git holds.
var held = map[string]string{git.Rebasing: "is being rebased", git.Bisecting: "is being bisected"}

// busyWith says what a working tree with this git directory does with a branch; empty: nothing.
func busyWith(dir, branch string) string {
	text, err := repofile.Read("", filepath.Join(dir, "HEAD"), mostHead)
	if name, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "ref: "); err == nil && ok && name == git.BranchRef(branch) {
		return "is checked out"
	}
	return held[git.Holds(dir, branch)]
}

// LacksObjects begins the reason against landing in a repository that lacks objects.
const LacksObjects = "the repository lacks objects"

// ails says why git can bring no objects into the repository, until a person mends it; empty: nothing is known against
// it. It looks at no object, and so a plan and a landing see the same.
func (u *User) ails() string {
	if _, err := os.Stat(u.store.Objects()); gone(err) {
		return LacksObjects + ": their directory is not there; once it is, type sett up"
	}
	if b, err := git.Borrowed(u.store.Objects()); err == nil && len(b.Lost) > 0 {
		return fmt.Sprintf("%s: it borrows them from %s, which is not there: restore it and type sett up, or git repack -ad && rm \"$(git rev-parse --git-path objects/info/alternates)\"",
			LacksObjects, role.Clean(b.Lost[0].Dir))
	}
	return ""
}

// unread says why a branch without a commit is not one that is to be made; empty: it is.
func (u *User) unread(branch string) string {
	file := filepath.Join(u.store.Dir, filepath.FromSlash(git.BranchRef(branch)))
	if info, err := os.Lstat(file); err != nil || info.IsDir() {
		return ""
	}
	return fmt.Sprintf("branch %s cannot be read: its file names no commit that is there (git fsck)", branch)
}
