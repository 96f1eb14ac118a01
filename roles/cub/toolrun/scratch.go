package toolrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// scratch is a directory in memory for all runs: /tmp of a container. Files that one
// tool leaves there take memory from the next, which may be killed for it. So it is
// emptied after a failed run, and when it is more than half full. Otherwise tools may
// use it as a cache. All methods do nothing on nil: the directory is not ours.
type scratch struct {
	dir    string
	mu     sync.Mutex
	users  int  // running tools: it is not emptied under one
	spoilt bool // one of them failed
}

func (s *scratch) enter() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users++
}

// leave records the end of a run, and returns the reason if the directory was emptied;
// the last run to leave empties it. The next run tries again to remove remaining files.
func (s *scratch) leave(failed bool) (emptied string) {
	if s == nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.spoilt = s.spoilt || failed
	switch {
	case s.users > 0:
		return ""
	case s.spoilt:
		emptied = "a run failed"
	case moreThanHalf(s.dir):
		emptied = "it was more than half full"
	default:
		return ""
	}
	if s.spoilt = empty(s.dir) != nil; s.spoilt {
		return ""
	}
	return emptied
}

// moreThanHalf says whether more than half of the file system is taken.
func moreThanHalf(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Bfree < fs.Blocks/2
}

// empty removes all files in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		errs = append(errs, discard(filepath.Join(dir, e.Name())))
	}
	return errors.Join(errs...)
}

// discard removes a file, or a directory with all its files.
func discard(path string) error {
	err := os.RemoveAll(path)
	if err != nil { // as in a cache with read-only directories
		open(path)
		err = os.RemoveAll(path)
	}
	return err
}

// open lets the owner of a tree of directories remove its files.
func open(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && err == nil {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}
