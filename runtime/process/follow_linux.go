package process

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// inotify is the watcher that the kernel wakes.
type inotify struct {
	f    *os.File
	path string
}

// newWatcher watches the log's file for writing and its directory for new files.
// A user has few such watchers (128 by default): without one, it looks at times.
func newWatcher(path string) watcher {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return newTicker()
	}
	w := &inotify{f: os.NewFile(uintptr(fd), "inotify"), path: path}
	if !w.add(filepath.Dir(path), unix.IN_CREATE|unix.IN_MOVED_TO) || !w.add(path, unix.IN_MODIFY) && exists(path) {
		w.close()
		return newTicker()
	}
	return w
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (w *inotify) add(path string, events uint32) bool {
	conn, err := w.f.SyscallConn()
	if err != nil {
		return false
	}
	if cerr := conn.Control(func(fd uintptr) { _, err = unix.InotifyAddWatch(int(fd), path, events) }); cerr != nil {
		return false
	}
	return err == nil
}

func (w *inotify) renew() { w.add(w.path, unix.IN_MODIFY) }
func (w *inotify) close() { _ = w.f.Close() }

func (w *inotify) wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() { _ = w.f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	// Which events these are does not matter: all say "look".
	_, err := w.f.Read(make([]byte, 16<<10))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
