package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"sett/roles/role"
)

// WriteWhole writes a file completely or not at all. Without force it does not replace
// an existing one; one that it replaces passes on its permissions.
func WriteWhole(path string, force bool, write func(io.Writer) error) error {
	return WriteBefore(path, force, write, nil)
}

// WriteBefore is WriteWhole for a file that stands beside others: after it is written, and before it has its name, these are
// made. An error of theirs leaves it out.
func WriteBefore(path string, force bool, write func(io.Writer) error, others func() error) (err error) {
	removeStale(path)
	f, err := begin(path, force)
	if err != nil {
		return fmt.Errorf("write %s: %w", role.Clean(path), role.Cause(err))
	}
	defer func() { _ = os.Remove(f.Name()) }()
	to := &file{to: f}
	err = write(to)
	whole := err == nil
	if whole {
		to.err = f.Sync()
	}
	if closed := f.Close(); whole && to.err == nil {
		to.err = closed
	}
	switch {
	case to.err != nil:
		return fmt.Errorf("write %s: %w", role.Clean(path), role.Cause(to.err))
	case err != nil:
		return err
	}
	if others != nil {
		if err := others(); err != nil {
			return err
		}
	}
	return putInPlace(f.Name(), path, force)
}

// begin makes the file that will get the name. It is locked while it is written.
func begin(path string, force bool) (*os.File, error) {
	dir, base := filepath.Split(path)
	f, err := os.CreateTemp(dir, "."+base+".*")
	if err != nil {
		return nil, err
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) // nobody else knows it; some file systems have no locks
	if now, err := os.Stat(path); force && err == nil && now.Mode().IsRegular() {
		_ = f.Chmod(now.Mode().Perm())
	}
	return f, nil
}

// staleAfter is the age from which a file is looked at that another export may have left.
const staleAfter = time.Minute

// removeStale removes the files that killed exports to the same path left: those that nobody has locked.
func removeStale(path string) {
	dir, base := filepath.Split(path)
	entries, _ := os.ReadDir(cmp.Or(dir, "."))
	for _, e := range entries {
		number, ours := strings.CutPrefix(e.Name(), "."+base+".")
		if !ours || number == "" || strings.Trim(number, "0123456789") != "" || !e.Type().IsRegular() {
			continue
		}
		name := filepath.Join(dir, e.Name())
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < staleAfter {
			continue
		}
		f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// file remembers its own error: not all errors of a writer's user are about the file.
type file struct {
	to  io.Writer
	err error
}

// Write writes to the file.
func (f *file) Write(b []byte) (int, error) {
	n, err := f.to.Write(b)
	if f.err == nil {
		f.err = err
	}
	return n, err
}

// putInPlace gives a file its name. Without force it fails if the name was taken
// meanwhile.
func putInPlace(temporary, path string, force bool) error {
	place := os.Rename
	if !force {
		place = os.Link
	}
	err := place(temporary, path)
	if !force && err != nil && !errors.Is(err, fs.ErrExist) {
		err = os.Rename(temporary, path) // a file system without links
	}
	if err == nil {
		err = syncDirectory(filepath.Dir(path))
	}
	if err != nil {
		var l *os.LinkError
		if errors.As(err, &l) {
			err = l.Err
		}
		return fmt.Errorf("write %s: %w", role.Clean(path), role.Cause(err))
	}
	return nil
}

// syncDirectory puts the names in a directory on disk.
func syncDirectory(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
