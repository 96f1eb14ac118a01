package term

import "golang.org/x/sys/unix"

// flush drops what was typed on a terminal and not read, also a line without its end.
func flush(fd int) { _ = unix.IoctlSetInt(fd, unix.TCFLSH, unix.TCIFLUSH) }
