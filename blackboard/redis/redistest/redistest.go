// Package redistest starts a real redis-server for a test, on loopback, and ends
// it with the test; or a Redis in a container, for the tests of a package. It is
// for tests and benchmarks only.
package redistest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// Server is a running redis-server.
type Server struct {
	URL  string
	Dir  string
	port int
	args []string
	cmd  *exec.Cmd
	tb   testing.TB
}

// Durable makes the server keep everything it acknowledged, as Sett runs it.
var Durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// Start starts a server with Sett's settings and the given ones. It fails the
// test when there is no redis-server on the PATH.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil {
		tb.Fatalf("redis-server is not on the PATH: install it (Debian, Ubuntu: apt-get install redis-server; macOS: brew install redis)")
	}
	s := &Server{Dir: tb.TempDir(), port: freePort(tb), args: args, tb: tb}
	s.URL = fmt.Sprintf("redis://127.0.0.1:%d", s.port)
	tb.Cleanup(s.Kill)
	s.Restart()
	return s
}

// Restart starts the server again after Kill, on the same port and data.
func (s *Server) Restart() {
	s.tb.Helper()
	args := append([]string{"--port", strconv.Itoa(s.port), "--bind", "127.0.0.1", "--dir", s.Dir, "--save", "",
		"--hash-max-listpack-value", "4096", "--daemonize", "no"}, s.args...)
	s.cmd = exec.Command("redis-server", args...)
	log, err := os.OpenFile(filepath.Join(s.Dir, "redis.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.tb.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.tb.Fatalf("start redis-server: %v", err)
	}
	if err := awaitAnswer(s.Addr()); err != nil {
		out, _ := os.ReadFile(filepath.Join(s.Dir, "redis.log"))
		s.tb.Fatalf("%v:\n%s", err, out)
	}
}

// awaitAnswer waits for a server that was just started.
func awaitAnswer(addr string) error {
	for deadline := time.Now().Add(10 * time.Second); !answers(addr); {
		if time.Now().After(deadline) {
			return fmt.Errorf("redis-server does not answer on %s", addr)
		}
		<-time.After(5 * time.Millisecond)
	}
	return nil
}

func answers(addr string) bool {
	c, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(time.Second))
	buf := make([]byte, 7)
	_, err = c.Write([]byte("PING\r\n"))
	if err == nil {
		_, err = c.Read(buf)
	}
	return err == nil && (string(buf[:5]) == "+PONG" || string(buf[:7]) == "-NOAUTH")
}

// Addr returns host:port.
func (s *Server) Addr() string { return fmt.Sprintf("127.0.0.1:%d", s.port) }

// Kill ends the server with SIGKILL. Killing it twice is harmless.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// PID returns the server's process id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

func freePort(tb testing.TB) int {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}
