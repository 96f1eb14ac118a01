package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A killed git leaves its lock files behind, and every later git refuses to work. A
// lock file does not name its owner, so it counts as left behind when
//
//   - no visible process has it open (where /proc tells), and
//   - it stays the same file, with the same size and time, for a while.
//
// A live git works on its lock without a pause, with one exception: a commit that
// waits for a person's editor. Without its lock that commit fails, and damages
// nothing; and during a restoration nobody else works in the tree. For a lock that a
// process has open, Restore waits.

// breakLocks removes locks that were left behind: of the index, HEAD, configuration
// and refs.
func (t *Tree) breakLocks(ctx context.Context, gitDir, commonDir string) error {
	locks, err := findLocks(gitDir, commonDir)
	if err != nil {
		return fmt.Errorf("look for locks: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, t.lockDeadline)
	defer cancel()
	for _, path := range locks {
		if err := t.breakLock(ctx, path); err != nil {
			return fmt.Errorf("remove lock %s: %w", path, err)
		}
	}
	return nil
}

// findLocks lists lock files; usually there is none.
func findLocks(gitDir, commonDir string) ([]string, error) {
	locks, err := filepath.Glob(escapeGlob(gitDir) + "/*.lock")
	if err != nil {
		return nil, err
	}
	if commonDir != gitDir {
		shared, err := filepath.Glob(escapeGlob(commonDir) + "/*.lock")
		if err != nil {
			return nil, err
		}
		locks = append(locks, shared...)
	}
	err = filepath.WalkDir(filepath.Join(commonDir, "refs"), func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // gone while looking, or refs are stored otherwise
		}
		if err == nil && !d.IsDir() && strings.HasSuffix(path, ".lock") {
			locks = append(locks, path)
		}
		return err
	})
	return locks, err
}

func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// breakLock waits until the lock is gone or counts as left behind.
func (t *Tree) breakLock(ctx context.Context, path string) error {
	tick := time.NewTicker(min(t.patience, 50*time.Millisecond))
	defer tick.Stop()
	var before os.FileInfo
	var since time.Time
	for {
		now, err := os.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		holder := holderOf(path)
		if holder != 0 || before == nil || !unchanged(before, now) {
			before, since = now, time.Now()
		} else if time.Since(since) >= t.patience {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
			if holder != 0 {
				return fmt.Errorf("process %d holds it: %w", holder, ctx.Err())
			}
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func unchanged(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// holderOf returns a process that has the file open; 0 when it sees none. It sees
// nothing without /proc, and no other user's processes.
func holderOf(path string) int {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return 0
	}
	processes, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, p := range processes {
		pid, err := strconv.Atoi(p.Name())
		if err != nil {
			continue
		}
		open := filepath.Join("/proc", p.Name(), "fd")
		files, err := os.ReadDir(open)
		if err != nil {
			continue
		}
		for _, f := range files {
			if target, err := os.Readlink(filepath.Join(open, f.Name())); err == nil && target == path {
				return pid
			}
		}
	}
	return 0
}
