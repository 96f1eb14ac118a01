package process

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// procStat is the needed part of /proc/PID/stat. Every user may read it, of every
// process.
type procStat struct {
	pid     int
	state   byte
	session int
	start   uint64 // clock ticks since boot
}

func (p procStat) ended() bool { return p.state == 'Z' || p.state == 'X' }

// readStat returns fs.ErrNotExist when there is no such process.
func readStat(pid int) (procStat, error) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if errors.Is(err, syscall.ESRCH) {
		err = fs.ErrNotExist // it ended between open and read
	}
	if err != nil {
		return procStat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	// The second field is the program's name in parentheses. It may contain spaces and
	// parentheses.
	i := bytes.LastIndexByte(data, ')')
	f := bytes.Fields(data[i+1:])
	if i < 0 || len(f) < 20 || len(f[0]) != 1 {
		return procStat{}, fmt.Errorf("read process %d: unknown form", pid)
	}
	p := procStat{pid: pid, state: f[0][0]}
	p.session, err = strconv.Atoi(string(f[3]))
	if err == nil {
		p.start, err = strconv.ParseUint(string(f[19]), 10, 64)
	}
	if err != nil {
		return procStat{}, fmt.Errorf("read process %d: %w", pid, err)
	}
	return p, nil
}

func bootID() (string, error) {
	data, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return string(bytes.TrimSpace(data)), nil
}

// pidNamespace names the namespace of the process ids that this process sees; empty: unknown.
// A container has one of its own, also where it shares a state directory with its host.
func pidNamespace() string {
	name, err := os.Readlink("/proc/self/ns/pid")
	if err != nil {
		return ""
	}
	return name
}

// identify returns the identity of the process with this id.
func identify(pid int) (ident, error) {
	p, err := readStat(pid)
	if err != nil {
		return ident{}, err
	}
	boot, err := bootID()
	return ident{PID: pid, Start: p.start, Boot: boot}, err
}

// same says whether the process still has its id, ended or not.
func same(id ident) bool {
	if id.PID <= 0 {
		return false
	}
	now, err := identify(id.PID)
	return err == nil && now == id
}

// alive says whether the process runs. It does not when it only waits to be reaped.
func alive(id ident) bool {
	f, err := openProcess(id)
	if err != nil {
		p, err := readStat(id.PID)
		return err == nil && same(id) && !p.ended()
	}
	if f == nil {
		return false
	}
	defer f.Close()
	return !hasEnded(f.Fd())
}

// openProcess opens a descriptor of exactly this process, also when its id is reused.
// Nil: the process is gone.
func openProcess(id ident) (*os.File, error) {
	if id.PID <= 0 {
		return nil, nil
	}
	fd, err := unix.PidfdOpen(id.PID, unix.PIDFD_NONBLOCK)
	if errors.Is(err, unix.ESRCH) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open process %d: %w", id.PID, err)
	}
	f := os.NewFile(uintptr(fd), "process "+strconv.Itoa(id.PID))
	if !same(id) {
		_ = f.Close()
		return nil, nil
	}
	return f, nil
}

// hasEnded says whether the process of the descriptor has ended: it is readable then.
func hasEnded(fd uintptr) bool {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	n, err := unix.Poll(p, 0)
	return err == nil && n > 0
}

// awaitEnd returns nil at the end of the process, reaped or not, and the context's error
// when the context ends first. It waits in the Go runtime's poller: no thread, no
// polling.
func awaitEnd(ctx context.Context, id ident) error {
	f, err := openProcess(id)
	if err != nil {
		return pollEnd(ctx, id) // an old kernel, a filter, or no descriptors left
	}
	if f == nil {
		return nil
	}
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return pollEnd(ctx, id)
	}
	stop := context.AfterFunc(ctx, func() { _ = f.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	if err := conn.Read(hasEnded); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return pollEnd(ctx, id)
	}
	return nil
}

// awaitChild returns at the child's end, and leaves it unreaped if it can.
func awaitChild(_ *exec.Cmd, id ident) { _ = awaitEnd(context.Background(), id) }

// send sends the signal to this process and to no other. An ended process is no error.
func send(id ident, sig syscall.Signal) error {
	p, err := os.FindProcess(id.PID) // holds the process, not its number, where the kernel can
	if err != nil || !same(id) {
		return nil
	}
	defer func() { _ = p.Release() }()
	if err := p.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", id.PID, err)
	}
	return nil
}
