package main

import (
	"os"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// intrusions are calls that reach into another process.
var intrusions = []struct {
	name string
	call func(pid int) error
}{
	{"PTRACE_SEIZE", func(pid int) error {
		// Not ATTACH, which stops it. The end of this process lets go again.
		_, _, code := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
		return errno(code)
	}},
	{"process_vm_readv", func(pid int) error {
		b := make([]byte, len(common))
		here := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
		_, err := unix.ProcessVMReadv(pid, here, []unix.RemoteIovec{{Base: commonAddress(), Len: len(b)}}, 0)
		return err
	}},
	{"process_vm_writev", func(pid int) error {
		b := make([]byte, len(common))
		here := []unix.Iovec{{Base: &b[0], Len: uint64(len(b))}}
		_, err := unix.ProcessVMWritev(pid, here, []unix.RemoteIovec{{Base: commonAddress(), Len: len(b)}}, 0)
		return err
	}},
	{"pidfd_getfd", func(pid int) error {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == nil {
			_, err = unix.PidfdGetfd(fd, 0, 0)
		}
		return err
	}},
	{"kcmp", func(pid int) error {
		_, _, code := unix.RawSyscall6(unix.SYS_KCMP, uintptr(pid), uintptr(os.Getpid()), 0, 0, 0, 0)
		return errno(code)
	}},
	{"its robust futexes", func(pid int) error {
		var head, length uintptr
		_, _, code := unix.RawSyscall(unix.SYS_GET_ROBUST_LIST, uintptr(pid), uintptr(unsafe.Pointer(&head)), uintptr(unsafe.Pointer(&length)))
		return errno(code)
	}},
}

// common stands at the same address in every process of this program.
var common [8]byte

func commonAddress() uintptr { return uintptr(unsafe.Pointer(&common)) }

func errno(code unix.Errno) error {
	if code != 0 {
		return code
	}
	return nil
}

// trySignals sends process 1 whatever would make a Go program print its stacks or
// leave a core, and what nobody survives. That this is reported shows that it has.
func trySignals() {
	for _, s := range []unix.Signal{
		unix.SIGQUIT, unix.SIGABRT, unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
		unix.SIGKILL, unix.SIGSTOP, unix.SIGTSTP,
	} {
		found("signal "+unix.SignalName(s), unix.Kill(1, s))
	}
}

// fault queues a fault as if the kernel had found process 1 at it, which ends it.
func fault() {
	info := [128]byte{0: byte(unix.SIGSEGV), 8: 1} // si_signo, si_code: SEGV_MAPERR
	_, _, code := unix.RawSyscall6(unix.SYS_RT_SIGQUEUEINFO, 1, uintptr(unix.SIGSEGV), uintptr(unsafe.Pointer(&info)), 0, 0, 0)
	found("fault", errno(code))
	_ = unix.Kill(1, unix.SIGSEGV)
}

// end tells process 1 to stop, for once; with an argument, again and again.
func end(again []string) {
	if os.Getenv("SETT_ATTEMPT") != "1" && len(again) == 0 {
		note(control, "another attempt", nil)
		return
	}
	for range time.Tick(10 * time.Millisecond) { // until it ends this one
		_ = unix.Kill(1, unix.SIGTERM)
	}
}
