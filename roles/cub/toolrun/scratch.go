package toolrun

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// scratch is a directory of all runs that is made of memory: /tmp of a container.
// What one tool leaves there the next one lacks, until that is killed for it and the
// one after that, too. So it is emptied after a run that failed, and when what is
// left takes more than half of it. Else tools find there what they have left, as a
// cache. All methods do nothing on nil: where the directory is somebody else's.
type scratch struct {
	dir    string
	mu     sync.Mutex
	users  int  // runs under way: it is not taken away from under one
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

// leave says that a run has ended, and whether the directory was emptied: the last
// to leave does it. What could not be removed is tried again after the next run.
func (s *scratch) leave(failed bool) (emptied bool) {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.users--
	s.spoilt = s.spoilt || failed
	if s.users > 0 || !s.spoilt && !moreThanHalf(s.dir) {
		return false
	}
	err := empty(s.dir)
	s.spoilt = err != nil
	return err == nil
}

// moreThanHalf says whether more than half of the file system is taken.
func moreThanHalf(dir string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(dir, &fs) == nil && fs.Bfree < fs.Blocks/2
}

// empty removes all that is in a directory.
func empty(dir string) error {
	entries, err := os.ReadDir(dir)
	errs := []error{err}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		err := os.RemoveAll(path)
		if err != nil { // as in a cache whose directories are read-only
			open(path)
			err = os.RemoveAll(path)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// open lets the owner of a tree of directories remove what is in them.
func open(dir string) {
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() && err == nil {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
}
