package toolrun

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The test binary is also the helper processes of its tests, chosen by this
// variable.
const roleVariable = "TOOLRUN_TEST_ROLE"

// secretVariable is in the environment that the kernel gives a helper process.
const secretVariable = "TOOLRUN_TEST_SECRET"

const secret = "the-blackboard-password"

// atOnce lets helper processes end without the second that the race detector
// takes at the end of a process.
const atOnce = "GORACE=atexit_sleep_ms=0"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(playRole(role))
	}
	if err := BecomeReaper(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	code := m.Run()
	if left := leftBehind(); left != "" {
		fmt.Fprintln(os.Stderr, "the tests left a process behind:", left)
		code = 1
	}
	os.Exit(code)
}

// sh is a command that runs body with the system's shell.
func sh(body string) Command {
	return Command{Args: []string{"sh", "-c", body}, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin"}}
}

// runTool runs c, which must start, and not take long.
func runTool(t testing.TB, c Command) Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	res, err := New().Run(ctx, c)
	if err != nil {
		t.Fatal(err)
	}
	if ctx.Err() != nil {
		t.Fatalf("the run took longer than 20 s: %+v", res)
	}
	if res.Started.IsZero() || res.Reaped.Before(res.Started) {
		t.Errorf("started %v, reaped %v", res.Started, res.Reaped)
	}
	return res
}

// until waits for a condition.
func until(t testing.TB, what string, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Minute)
	for !condition() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// alive says whether a process exists, as a zombie too.
func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

// leaving is sh in a new directory, where body must write a process number to the
// file pid; the tool ends when that is there. leftPID reads it.
func leaving(t testing.TB, body string) Command {
	t.Helper()
	cmd := sh(body + "\nuntil test -s pid; do sleep 0.01; done")
	cmd.Dir = t.TempDir()
	return cmd
}

func leftPID(t testing.TB, cmd Command) int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(cmd.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	return pidIn(t, b)
}

// pidIn reads a process number that a script printed.
func pidIn(t testing.TB, b []byte) int {
	t.Helper()
	line, _, _ := strings.Cut(string(b), "\n")
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil || pid < 2 {
		t.Fatalf("no process number in %q", b)
	}
	return pid
}

// write writes a file into a new directory.
func write(t testing.TB, name, content string, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file
}

// lines hands each Write on.
type lines chan string

func (l lines) Write(b []byte) (int, error) {
	l <- string(bytes.Clone(b))
	return len(b), nil
}
