package toolrun

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// withoutNetwork calls f on a thread without network; programs that f starts have
// none either. Where that cannot be enforced it fails, and does not call f.
func withoutNetwork(f func()) error { return onLostThread(offNetwork, f) }

func offNetwork() error {
	if err := cutNetwork(); err != nil {
		return fmt.Errorf("keep it off the network: %w", err)
	}
	return nil
}

// onLostThread calls f on a thread that has given up rights: prepare does that. On an
// error of prepare it does not call f.
//
// A thread never gets its rights back, so it ends with f. Go makes no thread from a
// locked one, so no other thread inherits the loss.
func onLostThread(prepare func() error, f func()) error {
	reserved.fill() // for the one that is lost
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // for good: the thread ends with the goroutine
		if unix.Gettid() == unix.Getpid() {
			// Go never ends the main thread. It is held while another one does it.
			done <- onLostThread(prepare, f)
			runtime.UnlockOSThread()
			return
		}
		if err := prepare(); err != nil {
			done <- err
			return
		}
		f()
		done <- nil
	}()
	return <-done
}

// cutNetwork takes the network from the calling thread and all that it will start.
func cutNetwork() error {
	filter, err := networkFilter(runtime.GOARCH)
	if err != nil {
		return err
	}
	// Without it only root may install a filter: a program with the set-user-ID
	// bit would run under rules that it does not expect.
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no-new-privileges: %w", err)
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, code := unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER,
		uintptr(unsafe.Pointer(&program))); code != 0 {
		return fmt.Errorf("install seccomp filter: %w", code)
	}
	// An emulated kernel may take the filter and do nothing with it.
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
		return errors.New("install seccomp filter: it has no effect")
	}
	if !errors.Is(err, unix.EACCES) {
		return fmt.Errorf("install seccomp filter: it has no effect: %w", err)
	}
	return nil
}

// The offsets in struct seccomp_data (linux/seccomp.h) that the filter reads: the
// number of the call, its architecture, and the lower halves of the arguments, since
// the kernel reads only those of an int.
const (
	atNumber   = 0
	atArch     = 4
	atDomain   = 16 // first argument of socket and socketpair
	atProtocol = 32 // third
)

// x32 marks calls of the third ABI of amd64, with numbers of its own.
const x32 = 0x40000000

// filterArchs are the machines the filter is written for: 64 bits, little-endian.
var filterArchs = map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}

// networkFilter is the program that decides on each system call of a tool without
// network.
//
//   - Sockets are refused with EACCES, all but two kinds: those of AF_UNIX, which
//     pipelines and language runtimes are built on, and NETLINK_ROUTE, with which
//     libraries list the interfaces. So the tool reaches servers on AF_UNIX, and
//     these may pass on a socket of their own: by path, servers in the workspace or
//     the image; by abstract name, servers in the same network namespace, such as
//     other workers of the same agent.
//   - io_uring makes sockets without the socket call; and asked for a key, the
//     kernel may have a name looked up by a helper outside. Both are as on a
//     kernel without them, which their users are prepared for.
//   - A process of another architecture (i386 on amd64) has other numbers and a
//     call that multiplexes; it ends with SIGSYS, since its calls could only all fail.
func networkFilter(goarch string) ([]unix.SockFilter, error) {
	arch, ok := filterArchs[goarch]
	if !ok {
		return nil, fmt.Errorf("seccomp filter for %s: %w", goarch, errors.ErrUnsupported)
	}
	allow, refuse := verdict(unix.SECCOMP_RET_ALLOW), verdict(unix.SECCOMP_RET_ERRNO|uint32(unix.EACCES))
	absent := verdict(unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS))
	f := []unix.SockFilter{
		load(atArch), equal(arch, 1, 0), verdict(unix.SECCOMP_RET_KILL_PROCESS),
		load(atNumber),
	}
	if arch == unix.AUDIT_ARCH_X86_64 {
		f = append(f, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: x32}, absent)
	}
	for _, call := range []uint32{unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_REQUEST_KEY} {
		f = append(f, equal(call, 0, 1), absent)
	}
	return append(f,
		equal(unix.SYS_SOCKETPAIR, 0, 4),
		load(atDomain), equal(unix.AF_UNIX, 0, 1), allow, refuse,
		equal(unix.SYS_SOCKET, 0, 6), // else allow
		load(atDomain), equal(unix.AF_UNIX, 4, 0), equal(unix.AF_NETLINK, 0, 2),
		load(atProtocol), equal(unix.NETLINK_ROUTE, 1, 0),
		refuse, allow,
	), nil
}

// load reads a word of struct seccomp_data.
func load(at uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: at}
}

// equal skips so many instructions when the word that was loaded is k, and so
// many when it is not.
func equal(k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

// verdict ends the program.
func verdict(v uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: v}
}
