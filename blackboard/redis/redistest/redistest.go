// Package redistest starts a server for the blackboard of a test and ends it with
// the test: a real redis-server on loopback, the embedded server inside the test
// binary, or a Redis in a container that a package's tests share. It is for tests
// and benchmarks only.
package redistest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Server is a running server.
type Server struct {
	URL  string
	Dir  string // its data
	port int
	tb   testing.TB

	args     []string
	password string    // of the default user; empty: none
	conf     string    // the file of a Sentinel; empty: it is none
	bus      string    // port on which the nodes of a cluster talk
	cmd      *exec.Cmd // the redis-server; nil: killed or embedded
	env      []string  // of the redis-server, further variables
	clock    string    // the file that shifts its clock; empty: it cannot be shifted

	embedded    bool
	busyAfter   time.Duration // of the embedded server; 0: as always
	inContainer bool
	stop        func()       // ends the embedded server or the container; nil: killed
	conns       *conns       // of the embedded server
	shift       atomic.Int64 // of its clock
	full        atomic.Bool
	most        atomic.Int64 // bytes that a file may have; 0: any
}

// Later is why -short skips a test that needs more than Go.
const Later = "make test runs it"

// Durable makes the server keep everything it acknowledged, as Sett runs it.
var Durable = []string{"--appendonly", "yes", "--appendfsync", "always"}

// Start starts a server with Sett's settings and the given ones. Without a
// redis-server on the PATH it runs in a container. The test is skipped without both.
func Start(tb testing.TB, args ...string) *Server {
	tb.Helper()
	if testing.Short() {
		tb.Skip(Later)
	}
	s := &Server{Dir: tb.TempDir(), port: freePort(tb), args: args, tb: tb}
	if i := slices.Index(args, "--requirepass"); i >= 0 {
		s.password = args[i+1]
	}
	if _, err := exec.LookPath("redis-server"); err != nil {
		if why := NoEngine(); why != "" {
			why, _, _ = strings.Cut(why, "\n")
			tb.Skip("no redis-server on the PATH, and " + why + "\nhint: sudo apt-get install redis-server")
		}
		s.inContainer = true
	}
	s.begin()
	return s
}

// begin starts the server for the first time.
func (s *Server) begin() {
	s.tb.Helper()
	s.URL = fmt.Sprintf("redis://127.0.0.1:%d", s.port)
	s.tb.Cleanup(s.Kill)
	s.Restart()
}

// Restart starts the server again after Kill, on the same port and data.
func (s *Server) Restart() {
	s.tb.Helper()
	if s.embedded {
		s.serve()
		return
	}
	bind := "127.0.0.1"
	if s.inContainer {
		bind = "0.0.0.0" // the engine publishes the port on loopback only
	}
	args := append([]string{"--port", strconv.Itoa(s.port), "--bind", bind, "--dir", s.Dir, "--save", "",
		"--hash-max-listpack-value", "4096", "--daemonize", "no", "--protected-mode", "no"}, s.args...)
	if s.inContainer {
		s.contain(args)
		return
	}
	if s.conf != "" {
		args = []string{s.conf, "--sentinel", "--port", strconv.Itoa(s.port), "--bind", bind, "--dir", s.Dir, "--protected-mode", "no"}
	}
	s.cmd = exec.Command("redis-server", args...)
	s.cmd.Env = append(os.Environ(), s.env...)
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
	for deadline := time.Now().Add(time.Minute); !answers(addr); {
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

// Kill ends the server: redis-server with SIGKILL, the embedded one with its
// connections. A second call does nothing.
func (s *Server) Kill() {
	if s.stop != nil {
		s.stop()
		s.stop = nil
	}
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// freePort returns a port that is free now. It is none of those that systems give to
// connections: one of these could take it before the server does, and while it is killed.
func freePort(tb testing.TB) int {
	tb.Helper()
	for range 100 {
		port := 10240 + rand.IntN(32000-10240)
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			continue
		}
		_ = l.Close()
		return port
	}
	tb.Fatal("find a free port below 32000: there is none")
	return 0
}
