package redis

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// unusedPort is a port at which nobody listens.
func unusedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer func() { must(t, l.Close()) }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	must(t, err)
	return port
}

// A move waits while a real server refuses it for a reason that passes, and is made when
// the reason is gone.
func TestServerRefusesForAWhile(t *testing.T) {
	for _, c := range []struct {
		code        string
		args        []string
		begin, cure []string // commands; begin ends with the state, cure ends it
	}{
		{"NOREPLICAS", nil, []string{"CONFIG", "SET", "min-replicas-to-write", "1"}, []string{"CONFIG", "SET", "min-replicas-to-write", "0"}},
		{"READONLY", nil, []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
		{"MASTERDOWN", []string{"--replica-serve-stale-data", "no"}, []string{"REPLICAOF", "127.0.0.1", "1"}, []string{"REPLICAOF", "NO", "ONE"}},
		{"OOM", nil, []string{"CONFIG", "SET", "maxmemory", "1"}, []string{"CONFIG", "SET", "maxmemory", "0"}},
		{"CLUSTERDOWN", []string{"--cluster-enabled", "yes", "--cluster-port", unusedPort(t)}, []string{"CLUSTER", "DELSLOTSRANGE", "0", "16383"}, []string{"CLUSTER", "ADDSLOTSRANGE", "0", "16383"}},
		{"BUSY", []string{"--busy-reply-threshold", "10"}, nil, []string{"SCRIPT", "KILL"}},
	} {
		t.Run(c.code, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, c.args...)
			if c.code == "CLUSTERDOWN" {
				s.Send(c.cure...)
			}
			lost := make(chan struct{}, 1)
			b := openOptions(t, store.Options{URL: s.URL, Instance: "test", Backoff: time.Millisecond, Retries: 100,
				Observe: func(_ time.Duration, away bool) {
					if away {
						select {
						case lost <- struct{}{}:
						default:
						}
					}
				}})
			w := &world{t, testContext(t), b, ""}
			if c.begin != nil {
				w.raw(c.begin[0], c.begin[1:]...)
			}
			if c.code == "BUSY" {
				endless(t, s)
			}
			if err := b.c.Client.Do(w.ctx, b.c.Client.B().Eval().Script("redis.call('INCR', KEYS[1])").Numkeys(1).Key("{test}").Build()).Error(); err == nil || !(strings.Contains(err.Error(), c.code) || c.code == "CLUSTERDOWN" && errors.Is(err, rueidis.ErrNoSlot)) {
				t.Fatalf("the server says %v, not %s", err, c.code)
			}
			posted := make(chan error, 1)
			g := goal("waits")
			go func() { posted <- b.People.PostGoal(w.ctx, g, "ann") }()
			select {
			case err := <-posted:
				t.Fatalf("the move ended while the server refuses: %v", err)
			case <-lost:
			}
			w.raw(c.cure[0], c.cure[1:]...)
			must(t, <-posted)
			if a, err := b.Records.Artefact(w.ctx, g.ID); err != nil || a.StructuralType != blackboard.Standard {
				t.Errorf("got %+v %v", a, err)
			}
		})
	}
}

// endless has the server run a script without an end, and returns when others are told.
func endless(t *testing.T, s *redistest.Server) {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "EVAL \"while true do end\" 0\r\n")
	must(t, err)
	other, err := net.Dial("tcp", s.Addr())
	must(t, err)
	defer func() { _ = other.Close() }()
	for answer := make([]byte, 64); !strings.HasPrefix(string(answer), "-BUSY"); {
		_, err = io.WriteString(other, "PING\r\n")
		must(t, err)
		_, err = other.Read(answer)
		must(t, err)
	}
}
