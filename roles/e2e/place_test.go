package e2e

import (
	"context"
	"errors"
	"strconv"
	"syscall"

	"sett/runtime"
	"sett/runtime/process"
)

// place is where an instance's units run.
type place interface {
	List(ctx context.Context, selector runtime.Labels) ([]runtime.Unit, error)
	// pid returns the process id that a unit has on this machine; 0: it has none,
	// or has none any more.
	pid(u runtime.Unit) int
	// kill ends a unit with SIGKILL, as if it had died of itself.
	kill(u runtime.Unit) error
}

// processes is the place where units are processes of this machine.
type processes struct{ *process.Runtime }

func (processes) pid(u runtime.Unit) int {
	pid, _ := strconv.Atoi(u.ID)
	return pid
}

func (p processes) kill(u runtime.Unit) error {
	if p.pid(u) <= 0 {
		return errors.New("it has no process id")
	}
	return syscall.Kill(p.pid(u), syscall.SIGKILL)
}
