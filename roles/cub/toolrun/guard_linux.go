package toolrun

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guard runs tools from threads whose children cannot weaken this process: it is their
// user's, so the kernel itself would let them lower its limits and its priority. Each
// thread has system call filters, which stay, so the threads are kept for further runs.
type guard struct {
	on      bool
	prepare func() error         // installs the filters on the calling thread
	off     func(f func()) error // calls f where the guard is not on
	mu      sync.Mutex
	idle    []*guardedThread
}

// idleThreads is the most threads that wait for a run.
const idleThreads = 4

// guardedThread is a thread with the filters.
type guardedThread struct{ jobs chan func() }

// ownGuards returns the guards of process 1 of a container, for tools with and without
// network. Elsewhere a tool can end this process in any case, and the filter would take
// set-user-ID programs from it.
func ownGuards() (with, without *guard) {
	on := os.Getpid() == 1
	with = &guard{on: on, prepare: guardThread, off: func(f func()) error { f(); return nil }}
	without = &guard{on: on, off: withoutNetwork, prepare: func() error {
		guarded := guardThread()
		if err := offNetwork(); err != nil {
			return err
		}
		return guarded
	}}
	return with, without
}

// run calls f on a guarded thread. On an error it has not called f.
func (g *guard) run(f func()) error {
	if !g.on {
		return g.off(f)
	}
	t, err := g.thread()
	if err != nil {
		return err
	}
	done := make(chan struct{})
	t.jobs <- func() { defer close(done); f() }
	<-done
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.idle) < idleThreads {
		g.idle = append(g.idle, t)
		return nil
	}
	close(t.jobs)
	return nil
}

// thread returns an idle thread, or a new one.
func (g *guard) thread() (*guardedThread, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last := len(g.idle) - 1; last >= 0 {
		t := g.idle[last]
		g.idle = g.idle[:last]
		return t, nil
	}
	reserved.fill() // for the one that it takes
	t, ready := &guardedThread{jobs: make(chan func())}, make(chan error)
	go t.serve(g.prepare, ready)
	return t, <-ready
}

// serve prepares a thread of its own, and runs the jobs there.
func (t *guardedThread) serve(prepare func() error, ready chan<- error) {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	if unix.Gettid() == unix.Getpid() {
		// Go never ends the main thread. It is held until another has begun.
		begun := make(chan error)
		go t.serve(prepare, begun)
		ready <- <-begun
		runtime.UnlockOSThread()
		return
	}
	if err := prepare(); err != nil {
		ready <- err
		return
	}
	ready <- nil
	for f := range t.jobs {
		f()
	}
}

// guardThread installs the filter on the calling thread, as far as the kernel has filters.
// A kernel that can ask this process about a call does so. Another refuses all doubtful
// calls. Without filters, a tool can still do harm, which condition finds.
func guardThread() error {
	if _, err := guardFilter(runtime.GOARCH, refusal); err != nil {
		return nil //nolint:nilerr // no filter is known for this machine
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no-new-privileges: %w", err)
	}
	fd, err := installGuard(unix.SECCOMP_RET_USER_NOTIF, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if err == nil {
		go answerCalls(fd)
		return nil
	}
	_, _ = installGuard(refusal, 0) // an old kernel, or somebody else listens already
	return nil
}

// refusal is the filter's verdict on a call that it refuses.
const refusal = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)

func installGuard(doubt uint32, flags uintptr) (listener int, err error) {
	filter, err := guardFilter(runtime.GOARCH, doubt)
	if err != nil {
		return -1, err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	fd, _, code := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&program)))
	if code != 0 {
		return -1, fmt.Errorf("install seccomp filter: %w", code)
	}
	return int(fd), nil
}

// question is the kernel's struct seccomp_notif, and answer its struct
// seccomp_notif_resp.
type question struct {
	id        uint64
	_, _      uint32
	number    int32
	arch      uint32
	_         uint64
	arguments [6]uint64
}

type answer struct {
	id    uint64
	_     int64
	err   int32
	flags uint32
}

// answerCalls answers the kernel's questions about calls until the last process with the
// filter has ended. The kernel has copied the numbers that are asked about, so the caller
// cannot change them afterwards.
func answerCalls(listener int) {
	defer func() { _ = unix.Close(listener) }()
	for {
		polled := []unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, -1); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return
		}
		if polled[0].Revents&unix.POLLIN == 0 {
			return
		}
		var q question
		if _, _, code := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); code != 0 {
			continue // the caller was killed meanwhile
		}
		a := answer{id: q.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		if err := verdictOn(q); err != 0 {
			a.flags, a.err = 0, -int32(err)
		}
		_, _, code := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
		if code == unix.EINVAL { // a kernel that cannot continue a call
			a.flags, a.err = 0, -int32(unix.EPERM)
			_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a)))
		}
	}
}

// verdictOn says how a call ends: with an error, or 0 if it goes on.
func verdictOn(q question) unix.Errno {
	call := guardedCallOf(q.arch, uint32(q.number))
	whom := int32(uint32(q.arguments[0])) //nolint:gosec // the kernel reads these 32 bits
	if call.kinds {
		whom = int32(uint32(q.arguments[1])) //nolint:gosec // likewise
		if uint32(q.arguments[0]) == call.group {
			if int(whom) == unix.Getpgrp() {
				return unix.EPERM
			}
			return 0
		}
	}
	thread := strconv.Itoa(int(whom))
	if _, err := os.Stat("/proc/self/task/" + thread); err == nil {
		return unix.EPERM
	}
	// A thread that this process starts just now might get a number that nobody has.
	if _, err := os.Stat("/proc/" + thread); err != nil {
		return unix.ESRCH
	}
	return 0
}
