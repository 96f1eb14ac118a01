// Package process runs units as processes of the host: in the background, each in a
// session of its own. So they survive the terminal and the process that started them,
// and later processes find them again. The package isolates nothing.
//
// The state of a unit is on disk, in the instance's state directory:
//
//	units/NAME.json  the record: process, labels, arguments, end
//	units/NAME.lock  held while a process starts or stops NAME
//	logs/NAME.log    the unit's output; see package logfile
//
// Two things make the records reliable. A record names a process by its id, its start
// time and its boot, so a reused id is never mistaken for the unit. And the record is
// written before the process starts (without its id, which is not known yet) and
// completed after: a half record means that its writer was killed in between. The next
// reader looks for the process with the record's token in its first argument, and adopts
// it. Stop finds a unit without a record in the same way.
//
// A unit's end is also the end of all its processes: those of its session, and those
// that left the session but still carry the marker. A process that leaves the session
// and clears its environment escapes.
//
// The package does not know the roles of units.
package process

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sett/runtime"
	"sett/runtime/logfile"
)

// MarkerEnv is the environment variable that marks the processes of a unit:
// INSTANCE/NAME/TOKEN, where INSTANCE is the name and a digest of the state directory and
// TOKEN is new with each start. Start sets it, and the unit's own processes should inherit
// it: a process without it is found by its session alone. The main process, which may hide
// its environment, has the same mark in its first argument.
const MarkerEnv = "SETT_UNIT"

// Options configure a Runtime.
type Options struct {
	Dir        string           // the instance's state directory, made with mode 0700 when needed
	Executable string           // the sett binary; empty: the running one
	Logger     *slog.Logger     // nil: slog.Default()
	Now        func() time.Time // nil: time.Now
}

// Runtime runs the units of one instance. Any number of values, in any number of
// processes, may work on the same directory at once.
type Runtime struct {
	dir      string
	exe      string
	log      *slog.Logger
	now      func() time.Time
	instance string // first part of the marker

	mu       sync.Mutex // taken after a unit's lock, never before waiting for one
	children map[string]*child
	subs     map[*subscription]struct{}
	workers  int // that were started
}

var (
	_ runtime.Runtime = (*Runtime)(nil)
	_ runtime.Logs    = (*Runtime)(nil)
)

// New returns a Runtime for the instance with the state directory o.Dir. It does no I/O
// yet.
func New(o Options) *Runtime {
	r := &Runtime{dir: o.Dir, exe: o.Executable, log: o.Logger, now: o.Now,
		children: map[string]*child{}, subs: map[*subscription]struct{}{}}
	if abs, err := filepath.Abs(o.Dir); err == nil {
		r.dir = abs // the caller may change its working directory
	}
	if r.log == nil {
		r.log = slog.Default()
	}
	if r.now == nil {
		r.now = time.Now
	}
	r.instance = instanceOf(r.dir)
	return r
}

// digestOf is the digest of the directory's path without symbolic links, as far as its
// parents exist.
func digestOf(dir string) [sha256.Size]byte {
	rest := ""
	for d := dir; ; d = filepath.Dir(d) {
		if resolved, err := filepath.EvalSymlinks(d); err == nil {
			dir = filepath.Join(resolved, rest)
			break
		}
		if d == filepath.Dir(d) {
			break
		}
		rest = filepath.Join(filepath.Base(d), rest)
	}
	return sha256.Sum256([]byte(dir))
}

func (r *Runtime) unitsDir() string  { return filepath.Join(r.dir, "units") }
func (r *Runtime) logs() logfile.Dir { return logfile.Dir(filepath.Join(r.dir, "logs")) }

func (r *Runtime) recordPath(name string) string { return filepath.Join(r.unitsDir(), name+".json") }

// prepare makes the directories. Logs and records may be private, so only their owner
// may read them.
func (r *Runtime) prepare() error {
	for _, d := range []string{r.unitsDir(), string(r.logs())} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
	}
	return nil
}

// marker is MarkerEnv's value for one start of a unit; with an empty token, the prefix
// of the values of all its starts.
func (r *Runtime) marker(name, token string) string {
	return r.instance + "/" + name + "/" + token
}

// Logs returns the log of the unit, from the log before the last rotation on: see
// logfile.Source. With Follow, it goes on when the unit is started again.
func (r *Runtime) Logs(ctx context.Context, name string, o runtime.LogOptions) (io.ReadCloser, error) {
	if err := runtime.CheckName(name); err != nil {
		return nil, fmt.Errorf("read log: %w: %w", err, fs.ErrNotExist)
	}
	src, err := r.logs().Open(name)
	var log io.ReadCloser
	if err == nil {
		log, err = src.Stream(ctx, o)
	}
	if err != nil {
		return nil, fmt.Errorf("read log of %s: %w", name, err)
	}
	return log, nil
}
