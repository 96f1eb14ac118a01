package logfile

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// inotify lets the kernel report changes.
type inotify struct {
	f    *os.File
	path string
}

// newWatcher watches the log for writing and its directory for new files. A user has
// few such watchers (128 by default); without one, a ticker does the work.
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
	// All events mean the same: look at the files.
	_, err := w.f.Read(make([]byte, 16<<10))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
