package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"sett/runtime"
)

// ErrLocked says that somebody else holds the lock.
var ErrLocked = errors.New("locked")

// Lock waits until it holds the instance's lock of that name, against everybody
// on this machine, and returns what releases it. The kernel releases it when the
// process ends, however it ends. When the context ends first, the error names
// the holder.
func (r *Runtime) Lock(ctx context.Context, name string) (release func(), err error) {
	path, err := r.lockPath(name)
	if err != nil {
		return nil, err
	}
	return waitLock(ctx, path)
}

// TryLock is Lock without the wait: where the lock is taken, the error is
// ErrLocked and holder the process that has it (0: it did not say yet).
func (r *Runtime) TryLock(name string) (release func(), holder int, err error) {
	path, err := r.lockPath(name)
	if err != nil {
		return nil, 0, err
	}
	return tryLock(path)
}

func (r *Runtime) lockPath(name string) (string, error) {
	if err := runtime.CheckName(name); err != nil {
		return "", err
	}
	return filepath.Join(r.dir, name+".lock"), r.prepare()
}

// unitLockPath is the lock that excludes everybody else from starting or
// stopping the unit.
func (r *Runtime) unitLockPath(name string) string {
	return filepath.Join(r.unitsDir(), name+".lock")
}

// waitLock asks again and again, since a blocked flock cannot be called back
// when the context ends. It is rarely taken, and then briefly.
func waitLock(ctx context.Context, path string) (func(), error) {
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		release, _, err := tryLock(path)
		if !errors.Is(err, ErrLocked) {
			return release, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(pause):
		}
	}
}

// tryLock takes the lock if it is free. The file is there only while it is held,
// or after a crash, so that locks of units that come and go do not pile up.
func tryLock(path string) (release func(), holder int, err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, 0, fmt.Errorf("open lock: %w", err)
		}
		if err := flock(f); err != nil {
			defer f.Close()
			if !errors.Is(err, unix.EWOULDBLOCK) {
				return nil, 0, fmt.Errorf("lock %s: %w", path, err)
			}
			holder := readHolder(f)
			return nil, holder, fmt.Errorf("%s is %w by process %d", filepath.Base(path), ErrLocked, holder)
		}
		if !current(f, path) {
			_ = f.Close() // its holder removed it while it was being opened here
			continue
		}
		// Only for people: a full disk costs the holder's name, not the lock.
		if f.Truncate(0) == nil {
			_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		}
		return func() { _, _ = os.Remove(path), f.Close() }, os.Getpid(), nil
	}
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// current says whether the path still leads to f.
func current(f *os.File, path string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(path)
	return err == nil && os.SameFile(a, b)
}

func readHolder(f *os.File) int {
	buf := make([]byte, 16)
	n, _ := f.ReadAt(buf, 0)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	if err != nil {
		return 0
	}
	return pid
}
