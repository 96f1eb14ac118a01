package toolrun

import (
	"syscall"

	"golang.org/x/sys/unix"
)

func sysProcAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}

// openPipe returns the read and the write end of a pipe that children do not
// inherit.
func openPipe() (ends [2]int, err error) {
	err = unix.Pipe2(ends[:], unix.O_CLOEXEC)
	return ends, err
}

// exitWatch makes the end of a child visible to poll, without reaping it.
type exitWatch struct {
	pid int
	fd  int // readable or hung up once the child has ended
}

// watchExit watches a child by its pidfd. Where there is none (before Linux 5.3,
// or a seccomp profile from before it) a thread waits and closes a pipe.
func watchExit(pid int) (exitWatch, error) {
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		return exitWatch{pid, fd}, nil
	}
	return watchExitByThread(pid)
}

func watchExitByThread(pid int) (exitWatch, error) {
	ends, err := openPipe()
	if err != nil {
		return exitWatch{}, err
	}
	go func() {
		for unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
		}
		_ = unix.Close(ends[1])
	}()
	return exitWatch{pid, ends[0]}, nil
}

// reap reaps the child, which has ended.
func (w *exitWatch) reap() syscall.WaitStatus {
	status, _ := wait(w.pid, 0)
	return status
}

func (w *exitWatch) close() {
	if w.pid != 0 {
		closeFD(&w.fd)
	}
}
