package worktree

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sett/roles/role/git"
)

// ErrNoCommit says that a hash does not name one commit of the repository.
var ErrNoCommit = git.ErrNoCommit

const branches = "refs/heads/"

// Head returns the commit and the branch of HEAD. Branch is empty when HEAD is detached; commit
// (a full hash) is empty when the branch has no commit yet.
func (t *Tree) Head(ctx context.Context) (commit, branch string, err error) {
	name, err := t.git(ctx, "symbolic-ref", "-q", "HEAD")
	detached := exitCode(err) == 1
	if err != nil && !detached {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	commit, err = t.commitOf(ctx, "HEAD")
	if err == nil && commit == "" && detached {
		err = errors.New("it is detached and names no commit")
	}
	if err != nil {
		return "", "", fmt.Errorf("read HEAD: %w", err)
	}
	branch, ok := strings.CutPrefix(line(name), branches)
	if !ok {
		return commit, "", nil
	}
	return commit, branch, nil
}

// commitOf returns the commit of a ref, empty when there is none. The name is ours,
// never a user's expression.
func (t *Tree) commitOf(ctx context.Context, ref string) (string, error) {
	out, err := t.git(ctx, "rev-parse", "-q", "--verify", ref+"^{commit}")
	if exitCode(err) == 1 {
		return "", nil
	}
	return line(out), err
}

// Dirty returns the files that differ from the last commit, and untracked files that
// are not ignored, in the form of `git status --porcelain`: two letters, a space, the
// unquoted path. A directory without tracked files is one entry with a slash at its
// end. Submodules do not count. Empty means clean.
func (t *Tree) Dirty(ctx context.Context) ([]string, error) {
	out, err := t.git(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal", "--ignore-submodules=all")
	if err != nil {
		return nil, fmt.Errorf("read working tree: %w", err)
	}
	return fields0(out), nil
}

// Resolve returns the whole hash if hash (7 to 64 hexadecimal digits, nothing else)
// is the hash of exactly one commit of the repository, or the beginning of one.
// Otherwise the error is ErrNoCommit with the reason. Names of branches and tags
// never count, even if they look like a hash.
func (t *Tree) Resolve(ctx context.Context, hash string) (string, error) {
	return git.Lookup(hash, func(stdin string, args ...string) (string, error) {
		return t.run(ctx, command{args: args, stdin: stdin})
	})
}
