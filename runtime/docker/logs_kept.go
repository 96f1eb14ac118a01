package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/docker/docker/api/types/container"
)

const (
	// maxKept is the size in bytes from which a kept log is put aside. One is.
	maxKept = 16 << 20
	// maxWorkers is how many logs of workers are kept, the newest. Theirs are many,
	// since each claim has a worker of its own.
	maxWorkers = 500
)

func (r *Runtime) logPath(name string) string    { return filepath.Join(r.o.Logs, name+".log") }
func (r *Runtime) oldLogPath(name string) string { return r.logPath(name) + ".1" }

// keptLogs are what is kept of the unit's log, oldest first.
func (r *Runtime) keptLogs(name string) ([]io.ReadCloser, error) {
	if r.o.Logs == "" {
		return nil, nil
	}
	var kept []io.ReadCloser
	for _, path := range []string{r.oldLogPath(name), r.logPath(name)} {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		kept = append(kept, f)
	}
	return kept, nil
}

// keepLog adds what a container wrote, which is about to be removed, to what is
// kept of its unit.
func (r *Runtime) keepLog(ctx context.Context, name, id string) error {
	if r.o.Logs == "" {
		return nil
	}
	release, err := r.archives.take(ctx, name)
	if err != nil {
		return err
	}
	defer release()
	if err := os.MkdirAll(r.o.Logs, 0o700); err != nil {
		return fmt.Errorf("make directory of logs: %w", err)
	}
	k := &keeper{r: r, name: name}
	_, err = r.lines(ctx, id, container.LogsOptions{Tail: "all"}, func(l logLine) error { return k.write(l.text) })
	if errors.Is(err, fs.ErrNotExist) {
		err = nil // somebody else removed it
	}
	if err := errors.Join(err, k.close()); err != nil {
		return err
	}
	if isWorker(name) {
		return r.prune()
	}
	return nil
}

// keeper writes a kept log, and begins a new file when one is full.
type keeper struct {
	r    *Runtime
	name string
	f    *os.File
	size int64
}

func (k *keeper) write(line []byte) error {
	if k.f == nil || k.size > maxKept {
		if err := k.open(); err != nil {
			return err
		}
	}
	n, err := k.f.Write(line)
	k.size += int64(n)
	return err
}

func (k *keeper) open() error {
	if err := k.close(); err != nil {
		return err
	}
	path := k.r.logPath(k.name)
	if st, err := os.Stat(path); err == nil && st.Size() > maxKept {
		if err := os.Rename(path, k.r.oldLogPath(k.name)); err != nil {
			return fmt.Errorf("rotate log: %w", err)
		}
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	k.f = f
	st, err := f.Stat()
	if err != nil {
		return err
	}
	k.size = st.Size()
	// The former container may have ended in the middle of a line.
	last := []byte{'\n'}
	if k.size > 0 {
		if _, err := f.ReadAt(last, k.size-1); err != nil {
			return err
		}
	}
	if last[0] != '\n' {
		_, err = f.WriteString("\n")
	}
	return err
}

func (k *keeper) close() error {
	if k.f == nil {
		return nil
	}
	err := k.f.Close()
	k.f = nil
	return err
}

// isWorker says whether a unit of that name, or what is kept of it, is one of many.
func isWorker(name string) bool {
	return strings.HasPrefix(name, "worker-") || strings.HasPrefix(name, "standby-")
}

// prune removes the oldest logs of workers, above their number.
func (r *Runtime) prune() error {
	entries, err := os.ReadDir(r.o.Logs)
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool {
		return !isWorker(e.Name()) || !strings.HasSuffix(e.Name(), ".log")
	})
	if len(entries) <= maxWorkers {
		return nil
	}
	type file struct {
		name string
		at   time.Time
	}
	files := make([]file, 0, len(entries))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			files = append(files, file{e.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name))
	})
	for _, f := range files[min(maxWorkers, len(files)):] {
		path := filepath.Join(r.o.Logs, f.name)
		for _, p := range []string{path, path + ".1"} {
			if err := os.Remove(p); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
