package role

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Hide makes this process non-dumpable: other processes of the same user can then
// neither trace it nor read its memory, environment or descriptors through /proc, root
// without CAP_SYS_PTRACE included. Nor does it leave a core dump, and nor do the
// programs that it starts, which inherit that limit and are dumpable again.
//
// Call ScrubEnv before: afterwards this process may not write its own memory through
// /proc either, unless it is root.
func Hide() error {
	var errs []error
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		errs = append(errs, fmt.Errorf("make process non-dumpable: %w", err))
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		errs = append(errs, fmt.Errorf("forbid core dumps: %w", err))
	}
	return errors.Join(errs...)
}

// ScrubEnv removes the named variables from the environment and overwrites them
// in the block that the kernel gave this process at its start, which
// /proc/PID/environ shows for ever otherwise. Values read before stay valid. On
// an error the variables are still gone from os.Environ.
func ScrubEnv(names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, os.Unsetenv(name))
	}
	if err := scrubBlock(names); err != nil {
		errs = append(errs, fmt.Errorf("scrub environment: %w", err))
	}
	return errors.Join(errs...)
}

func scrubBlock(names []string) error {
	start, end, err := envBlock()
	if err != nil {
		return err
	}
	mem, done, err := ownMemory()
	if err != nil {
		return err
	}
	defer done()
	block := make([]byte, end-start)
	if _, err := mem.ReadAt(block, start); err != nil {
		return err
	}
	for at := 0; at < len(block); {
		length := bytes.IndexByte(block[at:], 0)
		if length < 0 {
			length = len(block) - at
		}
		entry := block[at : at+length]
		for _, name := range names {
			if len(entry) > len(name) && entry[len(name)] == '=' && string(entry[:len(name)]) == name {
				if _, err := mem.WriteAt(make([]byte, length), start+int64(at)); err != nil {
					return err
				}
			}
		}
		at += length + 1
	}
	return nil
}

// memory is a process's memory.
type memory interface {
	io.ReaderAt
	io.WriterAt
}

// ownMemory gives access to this process's memory. Within the walls of local mode its file in
// /proc cannot be written.
func ownMemory() (m memory, done func(), err error) {
	f, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return calledMemory(os.Getpid()), func() {}, nil
	case err != nil:
		return nil, nil, err
	}
	return f, func() { _ = f.Close() }, nil
}

// calledMemory is the memory of the process with this number, by system calls.
type calledMemory int

// ReadAt reads all of b, or fails.
func (m calledMemory) ReadAt(b []byte, at int64) (int, error) {
	return m.move(unix.ProcessVMReadv, b, at)
}

// WriteAt writes all of b, or fails.
func (m calledMemory) WriteAt(b []byte, at int64) (int, error) {
	return m.move(unix.ProcessVMWritev, b, at)
}

func (m calledMemory) move(call func(int, []unix.Iovec, []unix.RemoteIovec, uint) (int, error), b []byte, at int64) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	local := unix.Iovec{Base: &b[0]}
	local.SetLen(len(b))
	n, err := call(int(m), []unix.Iovec{local}, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
	if err == nil && n < len(b) {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Where env_start stands in /proc/PID/stat, counted from the field after the
// name; env_end follows (proc_pid_stat(5), fields 50 and 51).
const envStartField = 50 - 3

// envBlock returns where this process's initial environment lies in its memory.
func envBlock() (start, end int64, err error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= envStartField+1 {
		return 0, 0, errors.New("read /proc/self/stat: too few fields")
	}
	if start, err = strconv.ParseInt(fields[envStartField], 10, 64); err != nil {
		return 0, 0, fmt.Errorf("read /proc/self/stat: %w", err)
	}
	if end, err = strconv.ParseInt(fields[envStartField+1], 10, 64); err != nil {
		return 0, 0, fmt.Errorf("read /proc/self/stat: %w", err)
	}
	if start <= 0 || end < start || end-start > 1<<30 {
		return 0, 0, fmt.Errorf("read /proc/self/stat: no environment at %d to %d", start, end)
	}
	return start, end, nil
}
