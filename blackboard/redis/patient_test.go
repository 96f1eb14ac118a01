package redis

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard/redis/internal/store"
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
		b := openOptions(t, store.Options{URL: slowLink(t, redistest.Start(t).Addr()), Instance: "test", Timeout: short, Retries: 5})
		o, err := store.ClientOption(b.c.Options)
		must(t, err)
		o.ConnWriteTimeout = short
		b.Close()
		b.c.Client, err = rueidis.NewClient(o)
		must(t, err)
		b.c.Share.Client = b.c.Client
		return (&world{t, testContext(t), b, ""}).patient()
	}
	from, to := slow(), slow()
	must(t, boardOn(from.b.c.Patient()).People.PostGoal(from.ctx, goal(strings.Repeat("long ", 2<<20)), "ann"))
	_, err := to.imports(from.export(""))
	must(t, err)
	sameKeys(t, from.dumpOf(boardOn(from.b.c.Patient())), to.dumpOf(boardOn(to.b.c.Patient())))
}

// dumpOf is dump by way of another board.
func (w *world) dumpOf(b *Board) map[string]string {
	return (&world{w.TB, w.ctx, b, w.epoch}).dump()
}

// A payload that takes longer on its way than a call may otherwise take is written all
// the same, instead of being sent again and again.
func TestMoveSlowLink(t *testing.T) {
	b := openOptions(t, store.Options{
		URL: slowLink(t, redistest.Start(t).Addr()), Instance: "test", Timeout: 250 * time.Millisecond, Retries: 5, // of the connection: the move would fail each time
	})
	must(t, b.People.PostGoal(testContext(t), goal(strings.Repeat("long ", 2<<20)), "ann"))
}
