// Package worktree reads the facts of a workspace's git repository, and restores its
// working tree. It runs the git program, never a shell, and knows nothing of grants,
// claims or the blackboard.
//
// A tool may have written anything into the tree, the repository's own configuration
// included. So git always runs
//
//   - on the repository of the root that New or the search upwards found: never on
//     one further up because .git is gone, never on a tree that core.worktree names;
//   - with an environment of its own (PATH, HOME, the place of git's configuration),
//     without hooks, file monitors, background maintenance or replaced objects;
//   - in its own process group, with a deadline.
//
// Programs of the repository's configuration (filters) run with the rights of the
// tool: no credentials and, see WithoutNetwork, no network.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sett/runtime/repofile"
)

// ErrNoRepository says that a directory is not in the working tree of a git
// repository.
var ErrNoRepository = errors.New("not a git repository")

// ErrNoGit says that there is no git program on the PATH.
var ErrNoGit = errors.New("no git on the PATH")

const (
	// commandTimeout bounds every single run of git. Adding gigabytes of
	// leftovers takes a while; anything longer hangs.
	commandTimeout = 5 * time.Minute
	// lockPatience is the time after which an unchanged lock that no process has open
	// counts as left behind.
	lockPatience = time.Second
	// lockTimeout is the longest wait for a lock that a process has open.
	lockTimeout = 30 * time.Second
)

// Tree is the working tree of a directory. It holds no state: any number of readers
// may use it at the same time, and one Restore.
type Tree struct {
	dir          string
	noNetwork    bool
	patience     time.Duration
	lockDeadline time.Duration
}

// New returns the tree of dir, without a look at it. For Restore, dir must be the
// tree's root.
func New(dir string) *Tree {
	return &Tree{dir: dir, patience: lockPatience, lockDeadline: lockTimeout}
}

// WithoutNetwork returns the same tree for an agent without network: git has none
// either, see toolrun.Command.NoNetwork. Otherwise a tool could name a program in the
// repository's configuration that uses the network in its place.
func (t *Tree) WithoutNetwork() *Tree {
	offline := *t
	offline.noNetwork = true
	return &offline
}

// Root returns the root of the working tree, absolute and without symbolic
// links. ErrNoRepository when there is none: no repository, a bare one, or one
// that git cannot read.
func (t *Tree) Root(ctx context.Context) (string, error) {
	root, err := t.find()
	if err != nil {
		return "", err
	}
	if _, err := t.git(ctx, "rev-parse", "--git-dir"); err != nil {
		if exitCode(err) > 0 {
			return "", fmt.Errorf("%w: %w", ErrNoRepository, err)
		}
		return "", err
	}
	return root, nil
}

// find looks for the root: the first directory upwards that has a .git. A .git that
// is only a pointer must lead to a repository.
func (t *Tree) find() (string, error) {
	dir, err := filepath.Abs(t.dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return "", fmt.Errorf("find repository: %w", err)
	}
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			if target := pointer(d); target != "" {
				if _, err := os.Stat(target); err != nil {
					return "", fmt.Errorf("%w: %s only points to %s, as in a linked worktree or a submodule, and that cannot be "+
						"seen from here: %w (a container sees the workspace alone; use a clone)",
						ErrNoRepository, filepath.Join(d, ".git"), target, reason(err))
				}
			}
			return d, nil
		}
		if d == filepath.Dir(d) {
			return "", fmt.Errorf("%w: %s", ErrNoRepository, dir)
		}
	}
}

// pointer returns where the .git of a root points to, absolute; empty when it is
// the repository itself.
func pointer(root string) string {
	git := filepath.Join(root, ".git")
	info, err := os.Lstat(git)
	if err != nil {
		return ""
	}
	target := ""
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, _ = os.Readlink(git)
	case info.Mode().IsRegular():
		b, err := repofile.Read(root, git, 8<<10) // one path
		var ok bool
		if target, ok = strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: "); err != nil || !ok {
			return ""
		}
	}
	if target == "" || filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(root, target)
}

// reason strips the operation and the path, which the message has already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// foreign says whether the root belongs to another user: git refuses such a
// repository unless told otherwise. Sett vouches only for a directory that the caller
// named, not for one found above it.
func (t *Tree) foreign(root string) bool {
	dir, err := filepath.EvalSymlinks(t.dir)
	if err != nil {
		return false
	}
	if dir, err = filepath.Abs(dir); err != nil || dir != root {
		return false
	}
	for _, path := range []string{root, filepath.Join(root, ".git"), pointer(root)} {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if owner, ok := info.Sys().(*syscall.Stat_t); ok && int(owner.Uid) != os.Geteuid() {
			return true
		}
	}
	return false
}
