package role

import (
	"net"
	"strings"
	"syscall"
	"time"
)

// Silence is how long the other end of a connection may not be heard of.
const Silence = 20 * time.Second

// Dialer returns a dialer of connections within an instance. They break when the other end
// has been silent for so long, whether or not data is under way: after a cut and a return of
// its network a container may have another address, and data from the old one is
// lost. Without that the kernel repeats it for a quarter of an hour, and a request hangs.
func Dialer(connect, silence time.Duration) *net.Dialer {
	d := &net.Dialer{Timeout: connect, KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: silence / 4, Interval: silence / 4, Count: 3}}
	d.Control = func(network, _ string, c syscall.RawConn) error {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		// A kernel without the option keeps the connection for longer.
		return c.Control(func(fd uintptr) { _ = giveUpAfter(int(fd), silence) })
	}
	return d
}
