//go:build linux

package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"sett/contract/env"
	"sett/runtime"
	"sett/runtime/logfile"
)

func TestStartKeepsARecordWithoutTheEnvironment(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	u := startUp(t, r, spec("cub-a", "wait"))
	units, err := r.List(t.Context(), runtime.Labels{runtime.LabelAgent: "cub-a"})
	if err != nil || len(units) != 1 || !reflect.DeepEqual(units[0], u) || !u.Running {
		t.Fatalf("listed %+v, %v; want %+v", units, err, u)
	}
	if other, _ := r.List(t.Context(), runtime.Labels{runtime.LabelAgent: "b"}); len(other) != 0 {
		t.Errorf("listed %+v for another agent", other)
	}
	data, err := os.ReadFile(r.recordPath("cub-a"))
	if err != nil || strings.Contains(string(data), "hunter2") {
		t.Errorf("record %s, %v: want none of the environment", data, err)
	}
	for path, mode := range map[string]fs.FileMode{r.dir: 0o700, r.unitsDir(): 0o700, string(r.logs()): 0o700,
		r.recordPath("cub-a"): 0o600, r.logs().Path("cub-a"): 0o600} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: mode %v, %v; want %v", path, st.Mode(), err, mode)
		}
	}
	if _, err := os.Stat(r.unitLockPath("cub-a")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("lock file stays: %v", err)
	}
	p, err := readStat(pidOf(t, u))
	if err != nil || p.session != p.pid {
		t.Errorf("process %+v, %v; want a session of its own", p, err)
	}
}

func TestStartGivesJustWhatItShould(t *testing.T) {
	t.Setenv("OF_THE_PARENT", "1")
	open, err := os.Create(filepath.Join(t.TempDir(), "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	r := newRuntime(t, stateDir(t))
	exits := exitsOf(t, r)
	s := spec("p", "print")
	s.Env = append(s.Env, MarkerEnv+"=the/parents/own", env.RedisURL+"=redis://:pass@host", env.Credentials+"=9", env.Token+"=pass")
	s.Dir = t.TempDir()
	start(t, r, s)
	if e := next(t, exits); e.Code != 0 || e.Text != "exit status 0" {
		t.Fatalf("exit %+v", e)
	}
	got := logText(t, r, "p", runtime.LogOptions{Lines: -1})
	for _, want := range []string{"SECRET=hunter2\n", MarkerEnv + "=" + r.instance + "/p/", "fd 0 /dev/null\n",
		"fd 1 " + r.logs().Path("p"), "fd 2 " + r.logs().Path("p"), "dir " + s.Dir,
		env.Credentials + "=3\n", "fd 3 pipe:"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	for _, bad := range []string{"OF_THE_PARENT", "the/parents/own", open.Name(), env.RedisURL + "=", env.Token + "=", env.Credentials + "=9"} {
		if strings.Contains(got, bad) {
			t.Errorf("%q in\n%s", bad, got)
		}
	}
}

func TestStartAdopts(t *testing.T) {
	dir := stateDir(t)
	a, b := newRuntime(t, dir), newRuntime(t, dir)
	u := startUp(t, a, spec("x", "wait"))
	for _, r := range []*Runtime{a, b} {
		if v := start(t, r, spec("x", "exit", "1")); !reflect.DeepEqual(u, v) {
			t.Errorf("adopted %+v, want %+v", v, u)
		}
	}
}

func TestConcurrentStartsMakeOneProcess(t *testing.T) {
	dir := stateDir(t)
	var wg sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		r := newRuntime(t, dir)
		wg.Add(1)
		go func() {
			defer wg.Done()
			if u, err := r.Start(context.Background(), spec("x", "wait")); err != nil {
				t.Error(err)
			} else {
				ids[i] = u.ID
			}
		}()
	}
	for range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			startElsewhere(t, New(Options{Dir: dir}), "x", "wait")
		}()
	}
	wg.Wait()
	r := New(Options{Dir: dir})
	found, err := scan(target{marker: r.marker("x", "")})
	if err != nil || len(found) != 1 {
		t.Fatalf("processes %+v, %v; want one", found, err)
	}
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("units %v, want one", ids)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	for _, name := range []string{"", "../x", ".x", "a/b", "a b", "a\x00", strings.Repeat("a", 201)} {
		if _, err := r.Start(t.Context(), spec(name, "wait")); !errors.Is(err, runtime.ErrName) {
			t.Errorf("name %q: %v", name, err)
		}
	}
	none := New(Options{Dir: r.dir, Executable: filepath.Join(r.dir, "none")})
	if _, err := none.Start(t.Context(), spec("x", "wait")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without executable: %v", err)
	}
	bad := spec("x", "wait")
	bad.Env = append(bad.Env, "A=\x00")
	if _, err := r.Start(t.Context(), bad); err == nil {
		t.Error("started with a zero byte in the environment")
	}
	if units, err := r.List(t.Context(), nil); err != nil || len(units) != 0 {
		t.Errorf("listed %+v, %v after failed starts", units, err)
	}
}

func TestStartThatCannotBeRecordedLeavesNothing(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	if err := r.prepare(); err != nil {
		t.Fatal(err)
	}
	// A directory in its place makes every write of the record fail.
	if err := os.MkdirAll(filepath.Join(r.unitsDir(), ".x.tmp", "full"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Start(t.Context(), spec("x", "wait")); err == nil {
		t.Fatal("started without a record")
	}
	if found, err := scan(target{marker: r.marker("x", "")}); err != nil || len(found) != 0 {
		t.Errorf("processes %+v, %v; want none", found, err)
	}
}

func TestStartRotatesALongLog(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	exits := exitsOf(t, r)
	start(t, r, spec("x", "exit", "0"))
	next(t, exits)
	if err := os.Truncate(r.logs().Path("x"), logfile.Full); err != nil {
		t.Fatal(err)
	}
	start(t, r, spec("x", "exit", "0"))
	next(t, exits)
	if _, err := os.Stat(r.logs().OldPath("x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("rotated at the limit: %v", err)
	}
	start(t, r, spec("x", "exit", "0"))
	if e := next(t, exits); e.Tail != "last words" {
		t.Errorf("tail %q", e.Tail)
	}
	st, err := os.Stat(r.logs().OldPath("x"))
	if err != nil || st.Size() != logfile.Full+int64(len("last words\n")) {
		t.Errorf("old log %+v, %v", st, err)
	}
}

// TestStartAfterUpgrade: the file of a program that starts units is replaced, as an upgrade does, or removed. It starts
// the program that it is, and none of the new version.
func TestStartAfterUpgrade(t *testing.T) {
	text, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, replaced := range []bool{true, false} {
		r, dir := newRuntime(t, stateDir(t)), t.TempDir()
		program, kept, other := filepath.Join(dir, "program"), filepath.Join(dir, "kept"), ""
		err := errors.Join(os.WriteFile(program, text, 0o700), os.Link(program, kept))
		if replaced {
			other = filepath.Join(dir, "other")
			err = errors.Join(err, os.WriteFile(other, []byte("#!/bin/false\n"), 0o700))
		}
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(program, "replaced", r.dir, other)
		cmd.Env = []string{helperEnv + "=1"}
		out, err := cmd.CombinedOutput()
		id, said, _ := strings.Cut(string(out), " ")
		if err != nil || said != "<nil>\n" {
			t.Fatalf("%v: %s", err, out)
		}
		runs, err := os.Stat("/proc/" + id + "/exe")
		was, _ := os.Stat(kept)
		if err != nil || !os.SameFile(runs, was) {
			t.Errorf("replaced %t: %v; it runs another program", replaced, err)
		}
	}
}
