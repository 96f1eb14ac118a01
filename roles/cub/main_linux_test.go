package cub

import "golang.org/x/sys/unix"

// makeReadable undoes what changing the user did: hide this process from it.
func makeReadable() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }
