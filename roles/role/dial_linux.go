package role

import (
	"time"

	"golang.org/x/sys/unix"
)

// giveUpAfter bounds how long data of a connection may wait for the other end.
func giveUpAfter(fd int, d time.Duration) error {
	return unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(d.Milliseconds()))
}
