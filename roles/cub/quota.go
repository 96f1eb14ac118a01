package cub

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"syscall"
	"time"

	"sett/roles/role"
)

// errQuota says that a tool takes more of the disk than it may.
var errQuota = errors.New("stopped for the disk")

// quota bounds the disk that a tool may take. Other agents, the blackboard and the
// repository need it, too.
type quota struct {
	dir  string // the tool's tree
	tree int64  // the most bytes that it may take on disk
	free int64  // the least bytes that its disk has to have left
}

// Times of a quota's looks. A look at a tree reads the entries of all its directories, and
// must stay a small part of the machine's work.
const (
	lookAtDisk    = 250 * time.Millisecond
	lookAtTree    = 5 * time.Second
	restAfterLook = 20 // times the look
)

// makeRoom makes the directories of a tool, where its disk has room for it.
func makeRoom(x *executor, w *work, disk quota) error {
	if w.tree != nil {
		if err := disk.checkDisk(); err != nil {
			w.tree.full = true
			return err
		}
	}
	if err := x.freshTmp(); err != nil {
		return err
	}
	return makeDir(x.settings)
}

// watch looks again and again while a tool runs, which begins after a first look at the disk. It calls stop, once, when the quota is exceeded. It returns then, or when the context ends.
func (q quota) watch(ctx context.Context, stop context.CancelCauseFunc) {
	every := time.NewTicker(lookAtDisk)
	defer every.Stop()
	next := time.Now().Add(lookAtTree)
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		err := q.checkDisk()
		if began := time.Now(); err == nil && began.After(next) {
			err = q.checkTree(ctx)
			next = time.Now().Add(max(lookAtTree, restAfterLook*time.Since(began)))
		}
		if err != nil {
			stop(err)
			return
		}
	}
}

// checkDisk compares the space that is left for everybody.
func (q quota) checkDisk() error {
	if left, told := role.Room(q.dir); told && left < q.free { // a disk that does not tell is not full
		return fmt.Errorf("%w: it has %s left, and workspace.min_free is %s", errQuota, mebibytes(left), mebibytes(q.free))
	}
	return nil
}

// checkTree adds up the tree's files.
func (q quota) checkTree(ctx context.Context) error {
	var size int64
	_ = filepath.WalkDir(q.dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil //nolint:nilerr // the tool is at work there
		}
		if info, err := d.Info(); err == nil {
			if s, ok := info.Sys().(*syscall.Stat_t); ok {
				size += s.Blocks * 512 // on disk; the unit is that of stat(2)
			}
		}
		return nil
	})
	if size > q.tree {
		return fmt.Errorf("%w: its tree takes %s, and workspace.max_tree is %s", errQuota, mebibytes(size), mebibytes(q.tree))
	}
	return nil
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
