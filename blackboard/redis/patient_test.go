package redis

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard/redis/redistest"
)

// slowLink passes connections to a server on, 16 MiB in a second each way at most.
func slowLink(t *testing.T, addr string) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var running sync.WaitGroup
	var conns sync.Map
	pass := func(to, from net.Conn) {
		defer func() { _, _ = to.Close(), from.Close() }()
		beat := time.NewTicker(4 * time.Millisecond)
		defer beat.Stop()
		for err := error(nil); err == nil; <-beat.C {
			_, err = io.CopyN(to, from, 64<<10)
		}
	}
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			srv, err := net.Dial("tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			conns.Store(client, srv)
			running.Go(func() { pass(srv, client) })
			running.Go(func() { pass(client, srv) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		conns.Range(func(client, srv any) bool {
			_, _ = client.(net.Conn).Close(), srv.(net.Conn).Close()
			return true
		})
		running.Wait()
	})
	return "redis://" + l.Addr().String()
}

// A payload that takes longer on its way than a call may otherwise take, and than a
// connection may be silent, is exported and imported all the same.
func TestExportSlowLink(t *testing.T) {
	const short = 250 * time.Millisecond
	slow := func() *world {
		b := openOptions(t, Options{URL: slowLink(t, redistest.Start(t).Addr()), Instance: "test", Timeout: short, Retries: -1})
		o, err := clientOption(b.o)
		must(t, err)
		o.ConnWriteTimeout = short
		b.Close()
		b.client, err = rueidis.NewClient(o)
		must(t, err)
		b.share.client = b.client
		return (&world{t, testContext(t), b, ""}).patient()
	}
	from, to := slow(), slow()
	must(t, from.b.patient().PostGoal(from.ctx, goal(strings.Repeat("long ", 2<<20))))
	_, err := to.imports(from.export(""))
	must(t, err)
	sameKeys(t, from.dumpOf(from.b.patient()), to.dumpOf(to.b.patient()))
}

// dumpOf is dump by way of another board.
func (w *world) dumpOf(b *Board) map[string]string {
	return (&world{w.TB, w.ctx, b, w.epoch}).dump()
}
