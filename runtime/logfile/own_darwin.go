package logfile

import "golang.org/x/sys/unix"

// duplicate makes the descriptor to another one of from's file.
func duplicate(from, to int) error { return unix.Dup2(from, to) }
