package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// crowd starts processes until there may be no more, and leaves them behind.
func crowd() {
	n := 0
	for ; n < 10000; n++ {
		_, err := syscall.ForkExec("/bin/sleep", []string{"sleep", "1000"}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err != nil {
			found("refused", err)
			break
		}
	}
	found("processes", n)
}

// bomb forks, and so does what it forks. It never ends.
func bomb() {
	runtime.LockOSThread() // there is one in the copies
	for {
		_, _, _ = unix.RawSyscall6(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
	}
}

// eat takes memory until it is killed.
func eat() {
	var all [][]byte
	for {
		all = append(all, bytes.Repeat([]byte{1}, 1<<20))
	}
}

// need takes no more than it may: memory, and room in /tmp.
func need() {
	b := bytes.Repeat([]byte{1}, 32<<20)
	note(control, "memory and /tmp", errors.Join(os.WriteFile("/tmp/need", b[:1<<20], 0o600), os.Remove("/tmp/need")))
}

// fill writes to /tmp until it is full, and leaves it so.
func fill() {
	f, err := os.Create("/tmp/full")
	size := 0
	for b := bytes.Repeat([]byte{1}, 1<<20); err == nil; size += len(b) {
		_, err = f.Write(b)
	}
	found("full", fmt.Sprint(size>>20, " MiB: ", err))
}

// flood writes 100 MB.
func flood(to *os.File) {
	note(control, "flood", nil)
	line := append(bytes.Repeat([]byte("x"), 999), '\n')
	for range 100_000 {
		if _, err := to.Write(line); err != nil {
			return
		}
	}
}

// zeroes writes to both what takes six times its size as JSON, and fails.
func zeroes() {
	b := make([]byte, 1<<20)
	for range 12 {
		_, _ = os.Stdout.Write(b)
		_, _ = os.Stderr.Write(b)
	}
	os.Exit(1)
}
