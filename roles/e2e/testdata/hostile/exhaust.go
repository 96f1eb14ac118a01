package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
)

// crowd starts processes until there may be no more, and leaves them behind.
func crowd() {
	n := 0
	for ; n < 10000; n++ {
		if err := exec.Command("/proc/self/exe", "idle").Start(); err != nil {
			found("refused", err)
			break
		}
		if n == 20 {
			note(control, "20 processes", nil)
		}
	}
	found("processes", n)
}

// bomb never ends, nor does what it starts.
func bomb() {
	for {
		_ = exec.Command("/bin/sh", "-c", `f() { f | f & }; f; wait`).Start()
		runtime.Gosched()
	}
}

// eat takes memory until it is killed.
func eat() {
	var all [][]byte
	for {
		all = append(all, bytes.Repeat([]byte{1}, 1<<20))
	}
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
	line := append(bytes.Repeat([]byte("x"), 999), '\n')
	for range 100_000 {
		if _, err := to.Write(line); err != nil {
			return
		}
	}
}
