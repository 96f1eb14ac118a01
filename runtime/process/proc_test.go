//go:build linux

package process

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

func TestPollEnd(t *testing.T) {
	cmd := exec.Command(os.Args[0], "wait")
	cmd.Env = []string{helperEnv + "=1"}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	id, err := identify(cmd.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, wait := range []func(context.Context, ident) error{pollEnd, awaitEnd} {
		if err := wait(ctx, id); !errors.Is(err, context.Canceled) {
			t.Errorf("wait for a living process: %v", err)
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	for _, wait := range []func(context.Context, ident) error{awaitEnd, pollEnd} {
		if err := wait(t.Context(), id); err != nil { // ended, not reaped
			t.Errorf("wait for a dead process: %v", err)
		}
	}
	if alive(id) || !same(id) {
		t.Errorf("unreaped process: alive %v, same %v", alive(id), same(id))
	}
	_ = cmd.Wait()
	if alive(id) || same(id) {
		t.Errorf("reaped process: alive %v, same %v", alive(id), same(id))
	}
	if err := send(id, syscall.SIGTERM); err != nil {
		t.Errorf("signal to a process that is gone: %v", err)
	}
	if _, err := identify(id.PID); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("identify a process that is gone: %v", err)
	}
	if alive(ident{}) {
		t.Error("no process is alive")
	}
}

func TestWhatEverybodyMayReadOfAProcess(t *testing.T) {
	pid := os.Getpid()
	if !own(pid) {
		t.Error("this process is not this user's")
	}
	if own(-1) || sameProgram(-1) || environMarker(pid)+environMarker(-1) != "" {
		t.Error("no process has an owner, a program or a marker")
	}
	if !sameProgram(pid) {
		t.Error("this process does not run this program")
	}
}

// TestNamesThatLookLikeFields has a program whose name tries to pass for the
// fields after it.
func TestNamesThatLookLikeFields(t *testing.T) {
	dir := t.TempDir()
	path := dir + "/a) Z 1 (b"
	if err := os.Symlink(os.Args[0], path); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "wait")
	cmd.Env = []string{helperEnv + "=1"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	p, err := readStat(cmd.Process.Pid)
	if err != nil || p.ended() || p.session != p.pid || p.start == 0 {
		t.Errorf("process %+v, %v", p, err)
	}
}
