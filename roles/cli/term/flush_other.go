//go:build unix && !linux

package term

import "golang.org/x/sys/unix"

// flush drops the input of a terminal that was not read, also a line without its end.
func flush(fd int) { _ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, unix.TCIFLUSH) }
