// Package process runs units as processes of the host: in the background, with
// a session of their own, so that they survive the terminal and the process that
// started them, and are found again by whoever comes next. It isolates nothing.
//
// What is known of a unit is on disk, in the instance's state directory:
//
//	units/NAME.json  the record: process, labels, arguments, how it ended
//	units/NAME.lock  held while NAME is started or stopped, by any process
//	logs/NAME.log    what the unit wrote; logs/NAME.log.1 is the one before
//
// Two things make the records trustworthy. A process is known by its id, its
// start time and the boot it belongs to, so that a reused id is never mistaken
// for the unit. And the record is written before the process is made (without
// the id, which nobody knows yet) and completed after: whoever finds such a half
// record, because its writer was killed in between, looks for the process that
// carries the record's token in its environment (MarkerEnv), and adopts it.
//
// A unit that ends takes everything with it that it started: all processes of
// its session, and those that left the session but still carry the marker. A
// process that did both, leave the session and clear its environment, escapes.
//
// It knows nothing of what the units do.
package process

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"sett/runtime"
)

// MarkerEnv is the environment variable that says which unit a process belongs
// to: INSTANCE/NAME/TOKEN, where INSTANCE is a digest of the state directory and
// TOKEN is new with each start. Start sets it; whatever the unit starts should
// inherit it, or is found by its session alone.
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
}

var (
	_ runtime.Runtime = (*Runtime)(nil)
	_ runtime.Logs    = (*Runtime)(nil)
)

// New returns a Runtime for the instance whose state is in o.Dir. It touches
// nothing yet.
func New(o Options) *Runtime {
	r := &Runtime{dir: o.Dir, exe: o.Executable, log: o.Logger, now: o.Now,
		children: map[string]*child{}, subs: map[*subscription]struct{}{}}
	if abs, err := filepath.Abs(o.Dir); err == nil {
		r.dir = abs // a caller that changes its directory keeps its instance
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

// instanceOf names the directory in markers: the same for every way to write its
// path, as far as its parents exist.
func instanceOf(dir string) string {
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
	sum := sha256.Sum256([]byte(dir))
	return hex.EncodeToString(sum[:8])
}

func (r *Runtime) unitsDir() string { return filepath.Join(r.dir, "units") }
func (r *Runtime) logsDir() string  { return filepath.Join(r.dir, "logs") }

func (r *Runtime) recordPath(name string) string { return filepath.Join(r.unitsDir(), name+".json") }
func (r *Runtime) logPath(name string) string    { return filepath.Join(r.logsDir(), name+".log") }
func (r *Runtime) oldLogPath(name string) string { return r.logPath(name) + ".1" }

// prepare makes the directories, readable for their owner alone: logs and
// records are nobody else's business.
func (r *Runtime) prepare() error {
	for _, d := range []string{r.unitsDir(), r.logsDir()} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
	}
	return nil
}

// marker is MarkerEnv's value for one start of a unit; with an empty token, what
// the values of all its starts begin with.
func (r *Runtime) marker(name, token string) string {
	return r.instance + "/" + name + "/" + token
}
