package redis

import (
	"net"
	"strings"
	"sync"
	"testing"

	"sett/blackboard/redis/internal/store"
)

// talk passes a connection on and keeps what is said: the client's words, and ~ for each answer.
type talk struct {
	mu   sync.Mutex
	said strings.Builder
}

func (k *talk) pass(from, to net.Conn, answer bool) {
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		if n > 0 {
			k.mu.Lock()
			if answer {
				k.said.WriteByte('~')
			} else {
				k.said.Write(b[:n])
			}
			k.mu.Unlock()
			if _, err := to.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			_ = to.Close()
			return
		}
	}
}

// The schema is read in the round trip that connects, not in one of its own.
func TestOpeningReadsTheSchema(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must(t, err)
		var k talk
		var wg sync.WaitGroup
		wg.Go(func() {
			for {
				client, err := l.Accept()
				if err != nil {
					return
				}
				srv, err := net.Dial("tcp", strings.TrimPrefix(s.url, "redis://"))
				if err != nil {
					_ = client.Close()
					continue
				}
				wg.Go(func() { k.pass(client, srv, false) })
				wg.Go(func() { k.pass(srv, client, true) })
			}
		})
		t.Cleanup(func() {
			_ = l.Close()
			wg.Wait()
		})
		b, err := Open(testContext(t), store.Options{URL: "redis://" + l.Addr().String(), Instance: "test", Name: "test"})
		must(t, err)
		b.Close()
		k.mu.Lock()
		defer k.mu.Unlock()
		all := k.said.String()
		_, asked, _ := strings.Cut(all, "PING")
		before, _, found := strings.Cut(asked, w.b.c.Keys.Instance())
		if !found || strings.Contains(before, "~") || strings.Count(all, w.b.c.Keys.Instance()) != 1 {
			t.Errorf("it said %q", all)
		}
	})
}
