package process

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// zombie is SZOMB of sys/proc.h: ended and not reaped.
const zombie = 5

func bootID() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return id, nil
}

// clock tells the time as start times do: in microseconds.
func clock() (uint64, error) { return uint64(time.Now().UnixMicro()), nil }

// identify says who the process of that id is now.
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

// alive says whether the process runs. One that ended and was not reaped does not.
func alive(id ident) bool {
	if id.PID <= 0 {
		return false
	}
	now, ended, err := look(id.PID)
	return err == nil && now == id && !ended
}

// awaitEnd returns nil when the process has ended, reaped or not, and the
// context's error when that ends first.
func awaitEnd(ctx context.Context, id ident) error { return pollEnd(ctx, id) }

// awaitChild returns when the child has ended, and reaps it.
func awaitChild(cmd *exec.Cmd, _ ident) { _ = cmd.Wait() }

// send sends the signal to this process. That it is gone is no error.
func send(id ident, sig syscall.Signal) error {
	if !alive(id) {
		return nil
	}
	if err := unix.Kill(id.PID, sig); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}

// sweep kills the process group that the session began with. Other groups of the
// session, and processes known by their marker alone, are not found here.
func sweep(ctx context.Context, t target) error {
	boot, err := bootID()
	if err != nil || t.PID <= 1 || t.Boot != boot {
		return err
	}
	if now, _, err := look(t.PID); err == nil && now != t.ident {
		return nil // the number has a new owner, and the group with it
	}
	err = unix.Kill(-t.PID, unix.SIGKILL)
	if err != nil && !errors.Is(err, unix.ESRCH) && !errors.Is(err, unix.EPERM) { // EPERM: only zombies
		return fmt.Errorf("kill process group %d: %w", t.PID, err)
	}
	return pollEnd(ctx, t.ident)
}

// findMain finds nothing here: a unit whose starter was killed between making
// the process and completing the record stays unknown.
func findMain(string, record) (ident, bool) { return ident{}, false }
