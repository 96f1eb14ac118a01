package redistest

import (
	"bufio"
	"net"
	"strconv"
	"testing"
	"time"
)

// A shifted clock is seen at once, also after a restart, and can be put right again.
func TestShift(t *testing.T) {
	t.Parallel()
	t.Run("redis", func(t *testing.T) { shifts(t, StartWithClock(t)) })
	t.Run("embedded", func(t *testing.T) { shifts(t, Embedded(t)) })
}

func shifts(t *testing.T, s *Server) {
	for _, by := range []time.Duration{-time.Hour, 90 * time.Second, 0} {
		s.Shift(by)
		for range 2 {
			if off := time.Until(timeOf(t, s)) - by; off.Abs() > 30*time.Second {
				t.Errorf("shifted by %s, the clock is off by %s", by, off)
			}
			s.Kill()
			s.Restart()
		}
	}
}

// timeOf asks a server for its time.
func timeOf(t *testing.T, s *Server) time.Time {
	t.Helper()
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Write([]byte("TIME\r\n")); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(c)
	for range 3 { // *2, $10, the seconds
		lines.Scan()
	}
	seconds, err := strconv.ParseInt(lines.Text(), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return time.Unix(seconds, 0)
}
