package embedded

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// logFile is the log that is written to. One goroutine uses it.
type logFile struct {
	f          *os.File
	generation uint64
	good       int64 // everything before is on disk; nothing after counts
	// broken: the bytes on disk after good are unknown. Nothing may be appended
	// before heal has cut them off.
	broken bool
	full   bool // it was refused room: nothing is appended before awaitRoom has found some
	sync   func(*os.File) error
	// writeAt is (*os.File).WriteAt, replaced by tests that fill the disk.
	writeAt func(f *os.File, b []byte, off int64) (int, error)
}

func logPath(dir string, generation uint64) string {
	return filepath.Join(dir, fmt.Sprintf("log.%d", generation))
}

// logTemp is the name of a log until its header is on disk. So a log that is shorter
// than its header was cut off later.
const logTemp = "log.tmp"

// createLog starts an empty log and makes its existence durable.
func createLog(dir string, generation uint64, sync func(*os.File) error) (*logFile, error) {
	temp, path := filepath.Join(dir, logTemp), logPath(dir, generation)
	if err := writeHeader(temp, fileHeader(logMagic, generation), sync); err != nil {
		return nil, errors.Join(err, removeIfThere(temp))
	}
	err := os.Rename(temp, path)
	if err == nil {
		err = syncDir(dir, sync)
	}
	var l *logFile
	if err == nil {
		l, err = continueLog(dir, generation, fileHeaderSize, sync)
	}
	if err != nil {
		// A later log would make the one before it look finished.
		return nil, errors.Join(err, removeIfThere(temp), removeIfThere(path))
	}
	return l, nil
}

// writeHeader makes a file with a header, and its content durable.
func writeHeader(path string, header []byte, sync func(*os.File) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(header)
	if err == nil {
		err = sync(f)
	}
	return errors.Join(err, f.Close())
}

func removeIfThere(path string) error {
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// continueLog opens a log that is whole up to good, and cuts off the rest.
func continueLog(dir string, generation uint64, good int64, sync func(*os.File) error) (*logFile, error) {
	f, err := os.OpenFile(logPath(dir, generation), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	l := &logFile{f: f, generation: generation, good: good, sync: sync, writeAt: (*os.File).WriteAt}
	if err := l.cut(); err != nil {
		_ = f.Close()
		return nil, err
	}
	return l, nil
}

// append makes b durable at the end of the log, or leaves the log as it was.
func (l *logFile) append(b []byte) error {
	err := l.mend()
	if err == nil {
		err = l.awaitRoom()
	}
	if err == nil {
		err = l.write(b)
	}
	if err == nil {
		l.good += int64(len(b))
	} else if l.full && isFull(err) {
		err = noRoom(err)
	}
	return err
}

// mend heals a broken log.
func (l *logFile) mend() error {
	if !l.broken {
		return nil
	}
	return l.heal()
}

// write has b on disk behind the good part, or leaves the log as it was.
func (l *logFile) write(b []byte) error {
	_, err := l.writeAt(l.f, b, l.good)
	if err == nil {
		err = l.sync(l.f)
	}
	if err == nil {
		return nil
	}
	l.full = l.full || isFull(err)
	// The refused bytes must be gone from the disk before anything else is
	// said, or a crash would bring back a write that was refused. Where that
	// fails too, no later append may come before it.
	l.broken = true
	if healErr := l.heal(); healErr != nil {
		return fmt.Errorf("%w (and then: %w)", err, healErr)
	}
	return err
}

// tailPage is at least the size of a page of the page cache.
const tailPage = 64 << 10

// heal brings the file back to its good part. After a failed fsync the kernel
// takes the pages it could not write for clean, so that the next fsync reports
// success without writing them; it also tells a file descriptor of the error
// only once. Hence a new descriptor, and the last good page is written again,
// so that the next fsync has it to write.
func (l *logFile) heal() error {
	f, err := os.OpenFile(l.f.Name(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	_ = l.f.Close()
	l.f = f
	if err := l.cut(); err != nil {
		return err
	}
	l.broken = false
	return nil
}

// cut removes the bytes after the good part and makes that durable.
func (l *logFile) cut() error {
	if err := l.f.Truncate(l.good); err != nil {
		return err
	}
	from := max(0, l.good-tailPage)
	tail := make([]byte, l.good-from)
	if _, err := io.ReadFull(io.NewSectionReader(l.f, from, l.good-from), tail); err != nil {
		return err
	}
	if _, err := l.f.WriteAt(tail, from); err != nil {
		return err
	}
	return l.sync(l.f)
}

// syncDir makes names created in, renamed in and removed from dir durable.
func syncDir(dir string, sync func(*os.File) error) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return sync(d)
}
