package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// memory is where Linux keeps files in memory. Tests make and remove a hundred thousand files:
// on a disk a fifth of their time goes there.
const memory = "/dev/shm"

// room is how much memory must be free for that, in bytes: a whole run keeps up to half a GiB of files, and its
// programs want the rest.
const room = 4 << 30

// testFolder makes the folder for the tests' temporary files: in memory where there is room, else
// beside the others. Its path is short, for tests have sockets in it. A TMPDIR that is set stays.
// The folder goes with the run, with all that tests leave in it.
func testFolder() (path string, remove func() error, err error) {
	if os.Getenv("TMPDIR") != "" {
		return "", func() error { return nil }, nil
	}
	parent := os.TempDir()
	if inMemory(memory) {
		parent = memory
	}
	path = filepath.Join(parent, fmt.Sprintf("s%x", os.Getpid()))
	if err := os.Mkdir(path, 0o700); errors.Is(err, os.ErrExist) {
		path, err = os.MkdirTemp(parent, "s")
		if err != nil {
			return "", nil, err
		}
	} else if err != nil {
		return "", nil, err
	}
	// As /tmp is: tests work as other users, too.
	return path, func() error { return os.RemoveAll(path) }, os.Chmod(path, os.ModeSticky|0o777)
}

// inMemory says whether a directory's files are in memory, programs can be started there, and room is free.
func inMemory(dir string) bool {
	const tmpfs, noexec = 0x01021994, 8 // linux/magic.h, statvfs(3)
	var fs syscall.Statfs_t
	if syscall.Statfs(dir, &fs) != nil || fs.Type != tmpfs || fs.Flags&noexec != 0 || syscall.Access(dir, 7) != nil {
		return false
	}
	return fs.Bavail*uint64(fs.Bsize) >= room && available() >= room //nolint:gosec // a size of the kernel
}

// available is how much memory programs can have without swapping, in bytes: proc(5), meminfo.
func available() uint64 {
	text, _ := os.ReadFile("/proc/meminfo") // without it there is none
	for line := range strings.Lines(string(text)) {
		var kib uint64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); n == 1 {
			return kib << 10
		}
	}
	return 0
}
