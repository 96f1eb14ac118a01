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

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked")

// Lock waits until it holds the instance's lock of that name, against every process on
// this machine. The kernel releases it at the end of the process. When the context ends
// first, the error names the holder.
func (r *Runtime) Lock(ctx context.Context, name string) (release func(), err error) {
	path, err := r.lockPath(name)
	if err != nil {
		return nil, err
	}
	return waitLock(ctx, path)
}

// TryLock is Lock without the wait: when another process holds the lock, the error is
// ErrLocked and holder its process id (0: not known yet).
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

// unitLockPath is the lock of those that start or stop the unit.
func (r *Runtime) unitLockPath(name string) string {
	return filepath.Join(r.unitsDir(), name+".lock")
}

// waitLock tries again and again, since the context cannot interrupt a blocked flock.
// The lock is rarely taken, and then briefly.
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

// tryLock takes the lock if it is free. The file exists only while the lock is held, or
// after a crash: otherwise every former unit would leave a file.
func tryLock(path string) (release func(), holder int, err error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, 0, fmt.Errorf("open lock: %w", err)
		}
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil { // never blocks
			defer f.Close()
			if !errors.Is(err, unix.EWOULDBLOCK) {
				return nil, 0, fmt.Errorf("lock %s: %w", path, err)
			}
			holder := readHolder(f)
			return nil, holder, fmt.Errorf("%s is %w by process %d", filepath.Base(path), ErrLocked, holder)
		}
		if !current(f, path) {
			_ = f.Close() // its holder removed it meanwhile
			continue
		}
		// For people only: without it, the lock still holds.
		if f.Truncate(0) == nil {
			_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		}
		return func() { _, _ = os.Remove(path), f.Close() }, os.Getpid(), nil
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
