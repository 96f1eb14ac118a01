package redistest

import (
	"fmt"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// slots is how many slots the keys of a cluster fall into.
const slots = 16384

// nodeTimeout is after how many milliseconds a cluster takes a silent node for gone, and
// Sentinels their master.
const nodeTimeout = "1000"

// Cluster starts masters that share the slots of a cluster, each with so many replicas,
// and waits until it serves. The masters come first, then the replicas: those of the first
// master, of the second, and so on.
func Cluster(tb testing.TB, masters, replicas int, args ...string) []*Server {
	tb.Helper()
	all := make([]*Server, masters*(1+replicas))
	for i := range all {
		bus := strconv.Itoa(freePort(tb))
		all[i] = startMany(tb, append([]string{"--cluster-enabled", "yes", "--cluster-port", bus, "--cluster-node-timeout", nodeTimeout,
			"--cluster-config-file", "nodes.conf", "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1"}, args...)...)
		all[i].bus = bus
	}
	for i, s := range all {
		if i < masters {
			s.must("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(slots*i/masters), strconv.Itoa(slots*(i+1)/masters-1))
			s.must("CLUSTER", "SET-CONFIG-EPOCH", strconv.Itoa(i+1))
		}
		if i > 0 {
			s.must("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(all[0].port), all[0].bus)
		}
	}
	for i, s := range all[masters:] {
		master := all[i/replicas]
		id := strings.TrimSpace(master.must("CLUSTER", "MYID"))
		await(tb, "a replica that knows its master", func() bool { return s.Send("CLUSTER", "REPLICATE", id) == "OK" })
	}
	for _, s := range all {
		await(tb, "a cluster that serves", func() bool { return strings.Contains(s.Send("CLUSTER", "INFO"), "cluster_state:ok") })
	}
	for _, s := range all[:masters] {
		AwaitReplicas(tb, s, replicas)
	}
	return all
}

// startMany starts a server that has to know others by their addresses on this host, as
// one in a container cannot.
func startMany(tb testing.TB, args ...string) *Server {
	tb.Helper()
	if _, err := exec.LookPath("redis-server"); err != nil && !testing.Short() {
		tb.Skip("no redis-server on the PATH to make several of: apt-get install redis-server")
	}
	return Start(tb, args...)
}

// Of returns the server of a cluster that serves a key now.
func Of(tb testing.TB, all []*Server, key string) *Server {
	tb.Helper()
	var owner *Server
	await(tb, "an owner of "+key, func() bool {
		for _, s := range all {
			if s.cmd != nil && s.Has(key) {
				owner = s
			}
		}
		return owner != nil
	})
	return owner
}

// Has says whether the server serves the key's slot of a cluster.
func (s *Server) Has(key string) bool {
	n := s.Send("EXISTS", key)
	return n == "0" || n == "1"
}

// Stall stops the server's process until goOn is called. Its connections stay.
func (s *Server) Stall() (goOn func()) {
	s.tb.Helper()
	process := s.cmd.Process
	if err := process.Signal(syscall.SIGSTOP); err != nil {
		s.tb.Fatal(err)
	}
	return func() { _ = process.Signal(syscall.SIGCONT) }
}

// Send makes a command and returns its reply as text without the protocol's marks but the
// minus of an error; words have no blanks. An empty text: it does not answer.
func (s *Server) Send(words ...string) string {
	conn, err := net.DialTimeout("tcp", s.Addr(), time.Second)
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	said := strings.Join(words, " ") + "\r\nQUIT\r\n"
	if s.password != "" {
		said = "AUTH " + s.password + "\r\n" + said
	}
	_, _ = io.WriteString(conn, said)
	all, _ := io.ReadAll(conn)
	text := strings.TrimSuffix(strings.TrimSuffix(string(all), "+OK\r\n"), "\r\n")
	if s.password != "" {
		text = strings.TrimPrefix(text, "+OK\r\n")
	}
	switch {
	case strings.HasPrefix(text, "$"):
		_, text, _ = strings.Cut(text, "\r\n")
	case strings.HasPrefix(text, "+"), strings.HasPrefix(text, ":"):
		text = text[1:]
	}
	return text
}

func (s *Server) must(words ...string) string {
	s.tb.Helper()
	text := s.Send(words...)
	if text == "" || text[0] == '-' {
		s.tb.Fatalf("%s on %s: %s", strings.Join(words, " "), s.Addr(), text)
	}
	return text
}

// AwaitReplicas waits until at least so many replicas follow a master.
func AwaitReplicas(tb testing.TB, s *Server, n int) {
	tb.Helper()
	await(tb, fmt.Sprintf("%d replicas of %s", n, s.Addr()), func() bool {
		return s.Replicas() >= n
	})
}

// Replicas counts those that follow this server and have all that it has.
func (s *Server) Replicas() int { return strings.Count(s.Send("INFO", "replication"), "state=online") }

func await(tb testing.TB, what string, done func() bool) {
	tb.Helper()
	for deadline := time.Now().Add(5 * time.Minute); !done(); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			tb.Fatal("wait for " + what + ": it does not come")
		}
	}
}
