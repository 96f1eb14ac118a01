//go:build linux

package process

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sett/runtime"
)

func TestStopAsksFirst(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	exits := exitsOf(t, r)
	pid := pidOf(t, startUp(t, r, spec("x", "polite")))
	if err := r.Stop(t.Context(), "x", deadline); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process after stop: %v", err)
	}
	if e := next(t, exits); e.Code != 3 || e.Tail != "up\nbye" {
		t.Errorf("exit %+v", e)
	}
	if units, err := r.List(t.Context(), nil); err != nil || len(units) != 0 {
		t.Errorf("listed %+v, %v", units, err)
	}
	if got := logText(t, r, "x", runtime.LogOptions{Lines: -1}); got != "up\nbye\n" {
		t.Errorf("log %q", got)
	}
}

func TestStopForcesAfterTheGrace(t *testing.T) {
	dir := stateDir(t)
	a, b := newRuntime(t, dir), newRuntime(t, dir)
	exits := exitsOf(t, a)
	pid := pidOf(t, startUp(t, a, spec("x", "stubborn")))
	const grace = 50 * time.Millisecond
	began := time.Now()
	if err := b.Stop(t.Context(), "x", grace); err != nil { // not its parent
		t.Fatal(err)
	}
	if took := time.Since(began); took < grace || !gone(pid) {
		t.Errorf("took %v of %v, gone %v", took, grace, gone(pid))
	}
	if e := next(t, exits); e.Text != "signal: killed" {
		t.Errorf("exit %+v", e)
	}
}

func TestStopTakesTheFamily(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	pid, children := family(t, r, "x")
	if err := r.Stop(t.Context(), "x", deadline); err != nil {
		t.Fatal(err)
	}
	for _, p := range append(children, pid) {
		if !gone(p) {
			t.Errorf("process %d survived the stop", p)
		}
	}
}

func TestStopEndsWithItsContext(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	startUp(t, r, spec("x", "stubborn"))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := r.Stop(ctx, "x", time.Hour); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stop: %v", err)
	}
}

func TestStopOfWhatIsNotThere(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	for _, name := range []string{"none", "../evil"} {
		if err := r.Stop(t.Context(), name, 0); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(r.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("stop made the state directory: %v", err)
	}
	exits := exitsOf(t, r)
	start(t, r, spec("x", "exit", "0"))
	next(t, exits)
	if err := r.Stop(t.Context(), "x", 0); err != nil {
		t.Error(err)
	}
	if units, _ := r.List(t.Context(), nil); len(units) != 0 {
		t.Errorf("listed %+v", units)
	}
}

func TestCorruptRecords(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	var log bytes.Buffer
	r.log = slog.New(slog.NewTextHandler(&log, nil))
	pid := pidOf(t, startUp(t, r, spec("good", "wait")))
	stray := pidOf(t, startUp(t, r, spec("bad", "wait")))
	for name, text := range map[string]string{"bad": `{"pid":`, "empty": "", "foreign": `{"name":"x","token":"t"}`,
		"negative": `{"name":"negative","token":"t","pid":-1}`, "a b": "{}"} {
		if err := os.WriteFile(r.recordPath(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	units, err := r.List(t.Context(), nil)
	if err != nil || len(units) != 1 || units[0].Name != "good" {
		t.Fatalf("listed %+v, %v", units, err)
	}
	for _, name := range []string{"bad", "empty", "foreign", "negative"} {
		if !strings.Contains(log.String(), "unit="+name) {
			t.Errorf("no word of %s in %s", name, log.String())
		}
	}
	// The process of the lost record is found by its marker, and does not run twice.
	u := startUp(t, r, spec("bad", "wait"))
	if !gone(stray) || gone(pidOf(t, u)) || gone(pid) {
		t.Errorf("stray gone %v, new one gone %v, other gone %v", gone(stray), gone(pidOf(t, u)), gone(pid))
	}
	for _, name := range []string{"empty", "foreign", "negative"} {
		if err := r.Stop(t.Context(), name, 0); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(r.recordPath(name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("record of %s after stop: %v", name, err)
		}
	}
}

// TestReusedProcessID fakes records that name a living process which is not the
// unit's, in each of the ways that can come about.
func TestReusedProcessID(t *testing.T) {
	innocent := exec.Command(os.Args[0], "wait")
	innocent.Env = []string{helperEnv + "=1"}
	innocent.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer innocent.Wait()
	defer innocent.Process.Kill()
	now, err := identify(innocent.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	early, boot := now, now
	early.Start--
	boot.Boot = "another"
	for _, id := range []ident{early, boot} {
		r := newRuntime(t, stateDir(t))
		if err := r.prepare(); err != nil {
			t.Fatal(err)
		}
		if err := r.writeRecord(record{ident: id, Name: "x", Token: "t"}); err != nil {
			t.Fatal(err)
		}
		units, err := r.List(t.Context(), nil)
		if err != nil || len(units) != 1 || units[0].Running {
			t.Errorf("listed %+v, %v", units, err)
		}
		if e := next(t, exitsOf(t, r)); e.Text != runtime.Unwatched {
			t.Errorf("exit %+v", e)
		}
		if err := send(id, syscall.SIGKILL); err != nil {
			t.Error(err)
		}
		for _, err := range []error{r.writeRecord(record{ident: id, Name: "x", Token: "t"}), r.Stop(t.Context(), "x", 0)} {
			if err != nil {
				t.Error(err)
			}
		}
		if !alive(now) {
			t.Fatal("a process that is not the unit's was killed")
		}
	}
}

// forget makes the record the half one that a starter killed at the worst moment
// leaves behind.
func forget(t *testing.T, r *Runtime, name string) {
	t.Helper()
	rec, err := r.readRecord(name)
	if err != nil {
		t.Fatal(err)
	}
	rec.ident = ident{}
	if err := r.writeRecord(rec); err != nil {
		t.Fatal(err)
	}
}

func TestHalfRecordIsCompleted(t *testing.T) {
	find := map[string]func(*testing.T, *Runtime) (runtime.Unit, bool){
		"list": func(t *testing.T, r *Runtime) (runtime.Unit, bool) {
			units, err := r.List(t.Context(), nil)
			if err != nil || len(units) != 1 {
				t.Fatalf("listed %+v, %v", units, err)
			}
			return units[0], units[0].Running
		},
		"start": func(t *testing.T, r *Runtime) (runtime.Unit, bool) {
			return start(t, r, spec("x", "exit", "1")), true
		},
	}
	for how, f := range find {
		r := newRuntime(t, stateDir(t))
		startElsewhere(t, r, "x", "wait")
		u := startUp(t, r, spec("x", "wait"))
		forget(t, r, "x")
		if got, running := f(t, r); !running || got.ID != u.ID || !got.StartedAt.Equal(u.StartedAt) {
			t.Errorf("%s: %+v, want %+v", how, got, u)
		}
		if err := r.Stop(t.Context(), "x", 0); err != nil || !gone(pidOf(t, u)) {
			t.Errorf("%s: stop: %v", how, err)
		}
	}
}

func TestHalfRecordOfNothingIsRemoved(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	if err := r.prepare(); err != nil {
		t.Fatal(err)
	}
	if err := r.writeRecord(record{Name: "x", Token: "t"}); err != nil {
		t.Fatal(err)
	}
	release, _, err := tryLock(r.unitLockPath("x"))
	if err != nil {
		t.Fatal(err)
	}
	if units, err := r.List(t.Context(), nil); err != nil || len(units) != 0 {
		t.Errorf("listed %+v, %v while it is started", units, err)
	}
	if _, err := os.Stat(r.recordPath("x")); err != nil {
		t.Errorf("record while it is started: %v", err)
	}
	release()
	if units, err := r.List(t.Context(), nil); err != nil || len(units) != 0 {
		t.Errorf("listed %+v, %v", units, err)
	}
	if _, err := os.Stat(r.recordPath("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("record: %v", err)
	}
}

func TestStateDirectoryByAnotherPath(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	a, b := New(Options{Dir: filepath.Join(dir, "new", "state")}), New(Options{Dir: filepath.Join(link, "new", "state")})
	if a.instance != b.instance {
		t.Error("one directory has two names in markers")
	}
	if c := New(Options{Dir: filepath.Join(dir, "other")}); c.instance == a.instance {
		t.Error("two directories have one name in markers")
	}
}
