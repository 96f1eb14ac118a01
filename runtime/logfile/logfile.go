// Package logfile keeps the logs of units in a directory: NAME.log, and NAME.log.1 and
// NAME.log.2, the logs before it. It rotates logs, selects lines from them and follows
// them. It does not know how units run.
package logfile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Full is the size in bytes above which a log is put aside, and olds the number of logs
// that are kept so: as much as an engine keeps of a container.
const (
	Full = 10 << 20
	olds = 2
)

// Dir is a directory of logs.
type Dir string

// Path is the file of a unit's log.
func (d Dir) Path(name string) string { return filepath.Join(string(d), name+".log") }

// OldPath is the file of the log before it.
func (d Dir) OldPath(name string) string { return oldPath(d.Path(name), 1) }

// oldPath is the file of the n-th log before the one at path, which is the 0th.
func oldPath(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}

// putAside makes the log at path the first of the old ones, and drops the last of them.
func putAside(path string) error {
	for n := olds; n > 0; n-- {
		if err := os.Rename(oldPath(path, n-1), oldPath(path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("rotate log: %w", err)
		}
	}
	return nil
}

// Append opens a unit's log for appending and returns its size. A full log is put
// aside first, so nobody else may write to it meanwhile.
func (d Dir) Append(name string) (f *os.File, size int64, err error) {
	path := d.Path(name)
	if st, err := os.Stat(path); err == nil && st.Size() > Full {
		if err := putAside(path); err != nil {
			return nil, 0, err
		}
	}
	f, err = os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, 0, fmt.Errorf("open log: %w", err)
	}
	if size, err = f.Seek(0, io.SeekEnd); err != nil {
		_ = f.Close()
		return nil, 0, fmt.Errorf("open log: %w", err)
	}
	return f, size, nil
}

// The logs of workers that are kept: the newest, at most so many, and no more than so many
// bytes. Each claim may have a worker of its own, with a log.
const (
	MaxWorkers  = 500
	workerBytes = 10 * (olds + 1) * Full
)

// IsWorker says whether a unit of that name serves a single claim.
func IsWorker(name string) bool {
	return strings.HasPrefix(name, "worker-") || strings.HasPrefix(name, "standby-")
}

// PruneWorkers removes the oldest logs of workers, but for those that run.
func (d Dir) PruneWorkers(runs func(name string) bool) error {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return err
	}
	type file struct {
		name string
		at   time.Time
		size int64
	}
	var files []file
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), ".log")
		if !ok || !IsWorker(name) || runs(name) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		f := file{name, info.ModTime(), info.Size()}
		for n := 1; n <= olds && f.size > 0; n++ {
			old, err := os.Stat(oldPath(d.Path(name), n))
			if err != nil {
				break
			}
			f.size += old.Size()
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(b.at.Compare(a.at), cmp.Compare(a.name, b.name))
	})
	total, kept := int64(0), 0
	for kept < min(MaxWorkers, len(files)) && total+files[kept].size <= workerBytes {
		total += files[kept].size
		kept++
	}
	for _, f := range files[kept:] {
		for n := range olds + 1 {
			if err := os.Remove(oldPath(d.Path(f.name), n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Writer appends lines to a unit's log and rotates it while it writes.
type Writer struct {
	dir  Dir
	name string
	f    *os.File
	size int64
}

// Writer returns a writer of a unit's log. Nothing happens before its first Write.
func (d Dir) Writer(name string) *Writer { return &Writer{dir: d, name: name} }

// Write appends whole lines.
func (w *Writer) Write(lines []byte) (int, error) {
	if w.f == nil || w.size > Full {
		if err := w.open(); err != nil {
			return 0, err
		}
	}
	n, err := w.f.Write(lines)
	w.size += int64(n)
	return n, err
}

func (w *Writer) open() (err error) {
	if err := w.Close(); err != nil {
		return err
	}
	if w.f, w.size, err = w.dir.Append(w.name); err != nil || w.size == 0 {
		return err
	}
	r, err := os.Open(w.f.Name())
	if err != nil {
		return err
	}
	defer r.Close()
	// The writer before may have stopped in the middle of a line.
	last := make([]byte, 1)
	if _, unread := r.ReadAt(last, w.size-1); unread == nil && last[0] != '\n' {
		_, err = w.f.WriteString("\n")
	}
	return err
}

// Close ends the writing.
func (w *Writer) Close() error {
	if w.f == nil {
		return nil
	}
	err := w.f.Close()
	w.f = nil
	return err
}
