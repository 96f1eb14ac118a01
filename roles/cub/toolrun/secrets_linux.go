package toolrun

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Protect keeps this process's memory secret. The process becomes non-dumpable: other processes of the same user, its tools among them, can then
// neither trace it nor read its memory, environment or descriptors through /proc,
// root without CAP_SYS_PTRACE included. Nor does it leave a core dump; a tool, which
// inherits that limit, leaves none in the workspace. And the signals on which Go
// prints its stacks to the log do nothing when a process sends them: the kernel
// spares process 1 of a container only signals without a handler, and Go handles all.
// A fault of its own still ends it, with the stacks.
//
// A tool of the same user can still end this process, with TERM or with a fault that
// it queues like the kernel (Go then prints only addresses). The tool ends with it,
// and its grant fails or is given anew.
//
// A program that this process starts is dumpable again, and has its signals as they
// were. Call ScrubEnv before: afterwards this process may not write its own memory
// through /proc either, unless it is root.
func Protect() error {
	var errs []error
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		errs = append(errs, fmt.Errorf("make process non-dumpable: %w", err))
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		errs = append(errs, fmt.Errorf("forbid core dumps: %w", err))
	}
	// Caught, not ignored: programs that it starts would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), dumping...)
	return errors.Join(errs...)
}

// dumping are the signals on which Go ends a process with its stacks.
var dumping = []os.Signal{
	unix.SIGQUIT, unix.SIGABRT, unix.SIGILL, unix.SIGTRAP, unix.SIGBUS, unix.SIGFPE, unix.SIGSEGV, unix.SIGSTKFLT, unix.SIGSYS,
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
	mem, err := os.OpenFile("/proc/self/mem", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer mem.Close()
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
