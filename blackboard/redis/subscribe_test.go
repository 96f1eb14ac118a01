package redis

import (
	"context"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// A listener is told of every change, on the channel it is on.
func TestNotices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		type notice struct{ channel, id string }
		notices, ready := make(chan notice, 100), make(chan struct{}, 10)
		ctx, cancel := context.WithCancel(w.ctx)
		ended := make(chan error, 1)
		channels := []Channel{ArtefactEvents, ClaimEvents, OrchestratorEvents, AgentEvents("a")}
		go func() {
			ended <- w.b.Subscribe(ctx, channels, func() { ready <- struct{}{} }, func(ch Channel, id string) {
				for i, c := range channels {
					if ch.Is(c) {
						notices <- notice{[]string{"artefact", "claim", "orchestrator", "a"}[i], id}
					}
				}
			}, func(err error) { t.Errorf("lost: %v", err) })
		}()
		<-ready
		next := func() notice {
			select {
			case n := <-notices:
				return n
			case <-w.ctx.Done():
				t.Fatal("no notice came")
				return notice{}
			}
		}
		expect := func(what string, want ...notice) {
			t.Helper()
			for _, n := range want {
				if got := next(); got != n {
					t.Errorf("%s: got %v, want %v", what, got, n)
				}
			}
		}
		g := w.goal()
		expect("goal", notice{"orchestrator", "+" + g.ID}, notice{"artefact", g.ID})
		claim := w.open(g.ID, "a")
		expect("open", notice{"claim", claim})
		must(t, w.bid(claim, "a", blackboard.BidExclusive))
		expect("last bid", notice{"orchestrator", claim + " 2 a=exclusive"})
		w.grant(claim, blackboard.PhaseExclusive, "a")
		expect("grant", notice{"a", claim})
		a := w.finish(claim, "a", blackboard.Standard, "Code", "")
		expect("result", notice{"orchestrator", "+" + a.ID}, notice{"artefact", a.ID}, notice{"orchestrator", claim})
		must(t, w.b.Nudge(w.ctx))
		expect("nudge", notice{"orchestrator", ""})
		channel := w.b.c.Keys.OrchestratorEvents()
		w.raw("PUBLISH", channel, strings.Repeat("x", 5<<20))
		w.raw("PUBLISH", channel, strings.Repeat("x", MaxNotice+1))
		w.raw("PUBLISH", channel, "\xff\x00 not an id")
		expect("the one that is not too long", notice{"orchestrator", "\xff\x00 not an id"})
		cancel()
		wantError(t, "the end", <-ended, context.Canceled)
	})
}

// After each reconnect the listener is told to read what is open, and notices
// sent after that arrive.
func TestSubscribeThroughRestarts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		b := openOptions(t, store.Options{URL: s.url, Instance: "test", Retries: 200, Backoff: 5 * time.Millisecond})
		ctx, cancel := context.WithCancel(testContext(t))
		notices, ready, lost := make(chan string, 100), make(chan struct{}, 10), make(chan error, 1000)
		ended := make(chan error, 1)
		go func() {
			ended <- b.Subscribe(ctx, []Channel{ArtefactEvents, ClaimEvents}, func() { ready <- struct{}{} },
				func(_ Channel, id string) { notices <- id }, func(err error) { lost <- err })
		}()
		for range 3 {
			select {
			case <-ready:
			case <-ctx.Done():
				t.Fatal("never ready")
			}
			g := goal("x")
			must(t, b.People.PostGoal(ctx, g, "ann"))
			if id := <-notices; id != g.ID {
				t.Errorf("notice %s, want %s", id, g.ID)
			}
			s.kill()
			err := <-lost
			wantError(t, "lost", err, blackboard.ErrUnavailable)
			if !strings.Contains(err.Error(), b.Addr()) {
				t.Errorf("the address is missing: %v", err)
			}
			s.restart()
		}
		<-ready
		cancel()
		wantError(t, "the end", <-ended, context.Canceled)
	}, redistest.Durable...)
}
