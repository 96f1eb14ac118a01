package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h: a process that ended and was not reaped.
const zombie = 5

func bootID() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return id, nil
}

// pidNamespace is empty: this system has one for all.
func pidNamespace() string { return "" }

// identify returns the identity of the process with this id.
func identify(pid int) (ident, error) {
	id, _, err := look(pid)
	return id, err
}

func look(pid int) (id ident, ended bool, err error) {
	p, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return ident{}, false, fmt.Errorf("read process %d: %w", pid, err)
	}
	boot, err := bootID()
	start := p.Proc.P_starttime
	return ident{PID: pid, Start: uint64(start.Sec)*1e6 + uint64(start.Usec), Boot: boot},
		p.Proc.P_stat == zombie, err
}

// alive says whether the process runs. It does not when it only waits to be reaped.
func alive(id ident) bool {
	if id.PID <= 0 {
		return false
	}
	now, ended, err := look(id.PID)
	return err == nil && now == id && !ended
}

// awaitEnd returns nil at the end of the process, reaped or not, and the context's error
// when the context ends first.
func awaitEnd(ctx context.Context, id ident) error { return pollEnd(ctx, id) }

// awaitChild returns at the child's end, and reaps it.
func awaitChild(cmd *exec.Cmd, _ ident) { _ = cmd.Wait() }

// send sends the signal to this process. An ended process is no error.
func send(id ident, sig syscall.Signal) error {
	if !alive(id) {
		return nil
	}
	if err := unix.Kill(id.PID, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// sweep kills the first process group of the session. On this system it does not find
// other groups of the session, and processes with the marker alone.
func sweep(ctx context.Context, t target) error {
	boot, err := bootID()
	if err != nil || t.PID <= 1 || t.Boot != boot {
		return err
	}
	if now, _, err := look(t.PID); err == nil && now != t.ident {
		return nil // the id, and the group's, belongs to another process
	}
	err = unix.Kill(-t.PID, unix.SIGKILL)
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) { // EPERM: only zombies
		return fmt.Errorf("kill process group %d: %w", t.PID, err)
	}
	return pollEnd(ctx, t.ident)
}

// markedProcesses finds nothing on this system: a unit without a whole record stays
// unknown.
func markedProcesses(func(mark) bool) ([]marked, error) { return nil, nil }
