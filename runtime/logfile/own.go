package logfile

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// OwnEnv names the log of a process that writes it by its stdout and stderr.
const OwnEnv = "SETT_UNIT_LOG"

// own is the log of this process. Nobody else could rotate it while it is written: the
// process outlives its starter, and holds the file open.
type own struct {
	mu   sync.Mutex
	path string
	size int64
}

// Own returns the writer of this process's own log, which OwnEnv names; nil when stderr is
// another file. It writes to stderr, and points stdout and stderr at a new file when the
// log is full. It takes the variable from the environment.
func Own() io.Writer {
	path := os.Getenv(OwnEnv)
	if path == "" {
		return nil
	}
	_ = os.Unsetenv(OwnEnv) // a program that this one starts has another stderr
	is, err := os.Stderr.Stat()
	if err != nil {
		return nil
	}
	if named, err := os.Stat(path); err != nil || !os.SameFile(is, named) {
		return nil
	}
	return &own{path: path, size: is.Size()}
}

// Write appends whole lines. If the log cannot be put aside, it goes on in the full one.
func (w *own) Write(lines []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.size > Full {
		if err := w.renew(); err != nil {
			fmt.Fprintf(os.Stderr, "sett: warning: %v\n", err)
		}
		w.size = 0 // it is tried again after as many bytes
	}
	n, err := os.Stderr.Write(lines)
	w.size += int64(n)
	return n, err
}

func (w *own) renew() error {
	if err := putAside(w.path); err != nil {
		return err
	}
	f, err := os.OpenFile(w.path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer f.Close()
	for _, std := range []*os.File{os.Stdout, os.Stderr} {
		if err := duplicate(int(f.Fd()), int(std.Fd())); err != nil {
			return fmt.Errorf("open log: %w", err)
		}
	}
	return nil
}
