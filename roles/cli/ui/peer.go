package ui

import (
	"context"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
)

// Users returns the user of this process and, if that is root by sudo, the user who called
// it: sudo is the value of SUDO_UID.
func Users(sudo string) []int {
	self := os.Geteuid()
	if caller, err := strconv.Atoi(sudo); err == nil && self == 0 {
		return []int{self, caller}
	}
	return []int{self}
}

// guest is a connection. Its other end is looked at once, before its first request is read
// for more than its header.
type guest struct {
	conn net.Conn
	once sync.Once
	why  string // that it is refused; empty: it is welcome
}

type guestKey struct{}

func withGuest(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, &guest{conn: c})
}

// stranger says why nobody at the other end of a request's connection may use the page;
// empty: somebody may. The loopback address is open to all users of this machine and all
// programs, those of agents in local mode included: a key that they found must be worth
// nothing to them.
func (s *Server) stranger(ctx context.Context) string {
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok { // it came over no connection
		return ""
	}
	g.once.Do(func() {
		from, err := netip.ParseAddrPort(g.conn.RemoteAddr().String())
		to, other := netip.ParseAddrPort(g.conn.LocalAddr().String())
		if err != nil || other != nil {
			g.why = "the connection has no address"
			return
		}
		g.why = refusal(from, to, s.Users)
	})
	return g.why
}
