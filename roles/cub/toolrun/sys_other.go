//go:build unix && !linux

package toolrun

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// sysProcAttr: there is no parent-death signal here. A tool outlives a cub that is
// killed.
func sysProcAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// openPipe returns the read and the write end of a pipe that children do not
// inherit.
func openPipe() (ends [2]int, err error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err = unix.Pipe(ends[:]); err != nil {
		return ends, err
	}
	unix.CloseOnExec(ends[0])
	unix.CloseOnExec(ends[1])
	return ends, nil
}

// exitWatch makes the end of a child visible to poll.
type exitWatch struct {
	fd     int // hung up once the child has ended
	status chan syscall.WaitStatus
}

// watchExit reaps the child as soon as it ends: waiting without reaping cannot be
// had portably. The kill of its group that follows may then, in theory, meet a
// group of another with the same number.
func watchExit(pid int) (exitWatch, error) {
	ends, err := openPipe()
	if err != nil {
		return exitWatch{}, err
	}
	w := exitWatch{ends[0], make(chan syscall.WaitStatus, 1)}
	go func() {
		status, _ := wait(pid, 0)
		w.status <- status
		_ = unix.Close(ends[1])
	}()
	return w, nil
}

// reap returns how the child ended.
func (w *exitWatch) reap() syscall.WaitStatus { return <-w.status }

func (w *exitWatch) close() {
	if w.status != nil {
		closeFD(&w.fd)
	}
}
