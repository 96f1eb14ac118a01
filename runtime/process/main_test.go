//go:build linux

package process

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sett/runtime"
)

// The test binary is the unit: with this variable set it does what its arguments
// say instead of testing.
const helperEnv = "SETT_TEST_HELPER"

func TestMain(m *testing.M) {
	if os.Getenv(helperEnv) != "" {
		// Not os.Exit, after which the race detector and coverage have their say.
		syscall.Exit(helper(os.Args[1], os.Args[2:]))
	}
	os.Exit(m.Run())
}

func helper(what string, args []string) int {
	switch what {
	case "wait": // until a signal ends it
		fmt.Println("up")
		forever()
	case "hidden": // keeps its environment from its user, as a cub does
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			panic(err)
		}
		fmt.Println("up")
		forever()
	case "exit":
		fmt.Println("last words")
		code, _ := strconv.Atoi(args[0])
		return code
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("up")
		forever()
	case "polite":
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("up")
		<-c
		fmt.Println("bye")
		return 3
	case "family": // children in the session, a group and a session of their own
		for i, attr := range []*syscall.SysProcAttr{{}, {Setpgid: true}, {Setsid: true}} {
			cmd := exec.Command("/proc/self/exe", "wait")
			cmd.SysProcAttr, cmd.Stdout = attr, os.Stdout
			if i < 2 { // found by the session alone
				cmd.Env = []string{helperEnv + "=1"}
			}
			if err := cmd.Start(); err != nil {
				panic(err)
			}
			fmt.Println("child", cmd.Process.Pid)
		}
		fmt.Println("up")
		forever()
	case "starter": // starts a unit of the instance args[0] and ends at once
		r := New(Options{Dir: args[0], Executable: os.Args[0]})
		u, err := r.Start(context.Background(), spec(args[1], args[2:]...))
		fmt.Println(u.ID, err)
		return 0
	case "replaced": // has the file args[1] in the place of its own program, none if it is "", and starts a unit
		own, err := os.Executable()
		if err == nil && args[1] != "" {
			err = os.Rename(args[1], own)
		} else if err == nil {
			err = os.Remove(own)
		}
		if err != nil {
			panic(err)
		}
		u, err := New(Options{Dir: args[0], Executable: own}).Start(context.Background(), spec("unit", "wait"))
		fmt.Println(u.ID, err)
		return 0
	case "print":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		fds, _ := os.ReadDir("/proc/self/fd")
		for _, fd := range fds {
			to, err := os.Readlink("/proc/self/fd/" + fd.Name())
			if err == nil {
				fmt.Println("fd", fd.Name(), to)
			}
		}
		wd, _ := os.Getwd()
		fmt.Println("dir", wd)
		return 0
	}
	panic("unknown helper " + what)
}

// forever does not return. An empty select would count as a deadlock.
func forever() {
	never := make(chan os.Signal, 1)
	signal.Notify(never, syscall.SIGUSR2)
	<-never
}

func spec(name string, args ...string) runtime.Spec {
	return runtime.Spec{Name: name, Args: args, Env: []string{helperEnv + "=1", "SECRET=hunter2"},
		Labels: runtime.Labels{runtime.LabelInstance: "t", runtime.LabelAgent: name}}
}

// newRuntime makes a Runtime on the directory and takes care that nothing of it
// is left when the test ends.
func newRuntime(t *testing.T, dir string) *Runtime {
	t.Helper()
	r := New(Options{Dir: dir, Executable: os.Args[0], Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	t.Cleanup(func() {
		recs, _ := r.records()
		for _, rec := range recs {
			if err := r.Stop(context.Background(), rec.Name, 0); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), deadline)
		defer cancel()
		if err := sweep(ctx, target{marker: r.instance + "/"}); err != nil {
			t.Error(err)
		}
	})
	return r
}

const deadline = 5 * time.Minute // the machine may be busy with other things

func stateDir(t *testing.T) string {
	return filepath.Join(t.TempDir(), "state")
}

// until waits for a condition that no channel tells of.
func until(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(deadline)
	for !cond() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func start(t *testing.T, r *Runtime, s runtime.Spec) runtime.Unit {
	t.Helper()
	u, err := r.Start(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// startUp is start for helpers that say when they are ready.
func startUp(t *testing.T, r *Runtime, s runtime.Spec) runtime.Unit {
	t.Helper()
	u := start(t, r, s)
	until(t, "unit up", func() bool {
		log, _ := os.ReadFile(r.logs().Path(s.Name))
		return strings.HasSuffix(string(log), "up\n")
	})
	return u
}

// startElsewhere starts a unit from a process that has ended when it returns.
func startElsewhere(t *testing.T, r *Runtime, name string, args ...string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"starter", r.dir, name}, args...)...)
	cmd.Env = []string{helperEnv + "=1"}
	if out, err := cmd.Output(); err != nil || !strings.HasSuffix(string(out), " <nil>\n") {
		t.Errorf("start elsewhere: %s, %v", out, err)
	}
}

func pidOf(t *testing.T, u runtime.Unit) int {
	t.Helper()
	pid, err := strconv.Atoi(u.ID)
	if err != nil || pid <= 1 {
		t.Fatalf("unit's id is %q, want a process id", u.ID)
	}
	return pid
}

// gone says whether no such process runs (unreaped ones do not).
func gone(pid int) bool {
	p, err := readStat(pid)
	return err != nil || p.ended()
}

func exitsOf(t *testing.T, r *Runtime) <-chan runtime.Exit {
	t.Helper()
	ch, err := r.Exits(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func next(t *testing.T, ch <-chan runtime.Exit) runtime.Exit {
	t.Helper()
	select {
	case e, ok := <-ch:
		if !ok {
			t.Fatal("exits ended")
		}
		return e
	case <-time.After(deadline):
		t.Fatal("no exit")
	}
	panic("unreachable")
}

func logText(t *testing.T, r *Runtime, name string, o runtime.LogOptions) string {
	t.Helper()
	rc, err := r.Logs(t.Context(), name, o)
	if err != nil {
		t.Fatal(err)
	}
	defer rc.Close()
	data, err := io.ReadAll(rc)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
