package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// The ledger is read from any position, in pages, and by time.
func TestHistory(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, b := testContext(t), open(t, s.url)
		last, err := b.Ledger.Last(ctx)
		must(t, err)
		if last != blackboard.Beginning {
			t.Errorf("last of an empty ledger: %s", last)
		}
		var goals []string
		for range 5 {
			g := goal("héllo")
			must(t, b.People.PostGoal(ctx, g, "ann"))
			goals = append(goals, g.ID)
		}
		var got []string
		var first time.Time
		for at := blackboard.Beginning; ; {
			es, err := b.Ledger.History(ctx, at, 2)
			must(t, err)
			if len(es) == 0 {
				break
			}
			for _, e := range es {
				got, at = append(got, e.Artefact), e.ID
				if first.IsZero() {
					first = e.Time
				}
				if e.Kind != blackboard.EventGoal || e.Workflow != e.Artefact || e.Attributes["size"] != "6" ||
					e.Attributes["type"] != blackboard.TypeGoalDefined {
					t.Errorf("event %+v", e)
				}
			}
		}
		wantList(t, "goals in the ledger", got, goals...)
		for name, tc := range map[string]struct {
			at   string
			want int
		}{
			"at its beginning": {blackboard.PositionAt(first), 5}, "before all time": {blackboard.PositionAt(time.Time{}), 5},
			"in the future": {blackboard.PositionAt(time.Now().Add(time.Hour)), 0},
		} {
			es, err := b.Ledger.History(ctx, tc.at, 100)
			must(t, err)
			if len(es) != tc.want {
				t.Errorf("%s: %d entries, want %d", name, len(es), tc.want)
			}
		}
		last, err = b.Ledger.Last(ctx)
		must(t, err)
		es, err := b.Ledger.History(ctx, last, 1)
		must(t, err)
		if len(es) != 0 {
			t.Errorf("after the last: %v", es)
		}
	})
}

// Follow ends with the error of its function, or with the context.
func TestFollowEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		enough := errors.New("enough")
		err := w.b.Ledger.Follow(w.ctx, blackboard.Beginning, func(blackboard.Event) error { return enough }, func(err error) { t.Error(err) })
		wantError(t, "its function's error", err, enough)
		ctx, cancel := context.WithCancel(w.ctx)
		err = w.b.Ledger.Follow(ctx, blackboard.Beginning, func(blackboard.Event) error { cancel(); return nil }, func(err error) { t.Error(err) })
		wantError(t, "the context's end", err, context.Canceled)
	})
}

// Whoever follows the ledger gets every entry once, whatever happens to the
// server in between.
func TestFollowThroughRestarts(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, cancel := context.WithCancel(testContext(t))
		b := openOptions(t, store.Options{URL: s.url, Instance: "test", Retries: 200, Backoff: 5 * time.Millisecond})
		const n = 300
		var lost atomic.Int64
		got, followed := make(chan string, 10*n), make(chan error, 1)
		go func() {
			followed <- b.Ledger.Follow(ctx, blackboard.Beginning, func(e blackboard.Event) error { got <- e.Artefact; return nil },
				func(error) { lost.Add(1) })
		}()
		posted := make(chan error, 1)
		want := make([]string, n)
		third := make(chan struct{}, 2)
		go func() {
			for i := range want {
				g := goal(fmt.Sprint(i))
				want[i] = g.ID
				if i == n/3 || i == 2*n/3 {
					third <- struct{}{}
				}
				if err := b.People.PostGoal(ctx, g, "ann"); err != nil {
					posted <- err
					return
				}
			}
			posted <- nil
		}()
		for range 2 {
			<-third
			s.kill()
			s.restart()
		}
		must(t, <-posted)
		var seen []string
		for len(seen) < n {
			select {
			case id := <-got:
				seen = append(seen, id)
			case <-ctx.Done():
				t.Fatalf("%d of %d entries", len(seen), n)
			}
		}
		cancel()
		wantError(t, "follow", <-followed, context.Canceled)
		if len(got) > 0 || !slices.Equal(seen, want) {
			t.Errorf("the entries are not those that were written, each once, in order (%d more)", len(got))
		}
		if lost.Load() == 0 {
			t.Error("nobody was told of the interruption")
		}
	}, redistest.Durable...)
}
