package redistest

import (
	"bytes"
	"io"
	"net"
	"strings"
	"sync"
	"time"
)

// Followers returns how many clients wait for new entries of a stream.
func (s *Server) Followers() int {
	s.tb.Helper()
	if s.embedded {
		return s.conns.followers()
	}
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = io.WriteString(conn, "CLIENT LIST\r\nQUIT\r\n")
	list, err := io.ReadAll(conn)
	if err != nil {
		s.tb.Fatal(err)
	}
	return strings.Count(string(list), " cmd=xread ")
}

// conns are the connections of an embedded server.
type conns struct {
	net.Listener
	mu  sync.Mutex
	all []*conn
}

func (c *conns) Accept() (net.Conn, error) {
	accepted, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	one := &conn{Conn: accepted}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, one)
	return one, nil
}

func (c *conns) followers() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, one := range c.all {
		if one.waits() {
			n++
		}
	}
	return n
}

// conn is a connection that notes whether its last command is an unanswered XREAD.
type conn struct {
	net.Conn
	mu      sync.Mutex
	waiting bool
}

func (c *conn) waits() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

func (c *conn) set(waiting bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = waiting
}

func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.set(err == nil && bytes.Contains(b[:n], []byte("\r\nXREAD\r\n")) && bytes.Contains(b[:n], []byte("\r\nBLOCK\r\n")))
	return n, err
}

func (c *conn) Write(b []byte) (int, error) {
	c.set(false)
	return c.Conn.Write(b)
}

func (c *conn) Close() error {
	c.set(false)
	return c.Conn.Close()
}
