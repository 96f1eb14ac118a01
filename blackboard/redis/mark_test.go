package redis

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"sett/blackboard"
)

// losses are the ways in which a board can become another one than it was. Each gets a
// board with two leads, of which the caller keeps the second.
var losses = map[blackboard.Loss]func(w *world){
	blackboard.LossEmpty:   func(w *world) { w.raw("FLUSHALL") },
	blackboard.LossForeign: func(w *world) { w.raw("HSET", w.b.c.Keys.Instance(), "mark", "another") },
	blackboard.LossOlder:   func(w *world) { w.raw("DEL", w.b.c.Keys.Events()) },
	"older epoch":          func(w *world) { w.raw("SET", w.b.c.Keys.Epoch(), "1 x") },
	"older adoption":       func(w *world) { w.raw("HDEL", w.b.c.Keys.Instance(), "adopted") },
}

// On a board that is lost nobody leads, no agent reports, and the look says how it is
// lost, until a person adopts the board; the leader and the agents of before then go on.
func TestLostBoard(t *testing.T) {
	for _, how := range slices.Sorted(maps.Keys(losses)) {
		t.Run(string(how), func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *server) {
				w := newWorld(t, s)
				_, err := w.b.Settle(w.ctx, "mine", true, "test")
				must(t, err)
				w.goal()
				lead, _, err := w.b.Leader.TakeLead(w.ctx, "o2", "o", time.Hour)
				must(t, err)
				p := blackboard.Presence{Incarnation: "i1"}
				must(t, w.b.Cub.Hello(w.ctx, "writer", p, time.Hour))
				cub := open(t, s.url)
				must(t, cub.Cub.HelloWorker(w.ctx, "many", blackboard.Worker{Incarnation: "w1"}, time.Hour))
				losses[how](w)

				_, look := w.b.Look(w.ctx)
				_, settle := w.b.Settle(w.ctx, "new", false, "test")
				_, _, take := w.b.Leader.TakeLead(w.ctx, "o2", "o", time.Hour)
				before := w.b.Known()
				for what, err := range map[string]error{
					"look": look, "settle": settle, "take the lead": take,
					"renew": w.b.Leader.RenewLead(w.ctx, lead, time.Hour),
					"hello": w.b.Cub.Hello(w.ctx, "writer", p, time.Hour), "beat": w.b.Cub.Beat(w.ctx, "writer", "i1", time.Hour),
				} {
					if (what == "hello" || what == "beat") && how == blackboard.LossOlder {
						must(t, err) // agents may not ask for the length of the ledger
						continue
					}
					var lost *blackboard.LostError
					if !errors.As(err, &lost) || !errors.Is(err, blackboard.ErrLost) || (lost.Known.ID != before.ID || lost.Known.Epoch != before.Epoch) {
						t.Errorf("%s: %v", what, err)
						continue
					}
					if lost.Loss != how && lost.Loss != blackboard.LossOlder {
						t.Errorf("%s: lost as %s", what, lost.Loss)
					}
				}
				if how == blackboard.LossEmpty || how == blackboard.LossForeign {
					err = cub.Cub.HelloWorker(w.ctx, "many", blackboard.Worker{Incarnation: "w1"}, time.Hour)
					wantError(t, "a worker that saw less", err, blackboard.ErrLost)
				}

				adopted, err := openOptions(t, Options{URL: s.url, Instance: "test", Mark: before}).Settle(w.ctx, "mine", true, "a person")
				must(t, err)
				if adopted.Adopted <= before.Adopted && adopted.ID == before.ID {
					t.Errorf("adopted as %+v after %+v", adopted, before)
				}
				if how == blackboard.LossForeign {
					if adopted.ID != "another" {
						t.Errorf("adopted as %+v", adopted)
					}
					return // this process knows another mark, and is to be started anew
				}
				again, _, err := w.b.Leader.TakeLead(w.ctx, "o2", "o", time.Hour)
				must(t, err)
				forgot := how == blackboard.LossEmpty || how == "older epoch"
				if again.Epoch == "" || forgot == (again.Epoch == lead.Epoch) {
					t.Errorf("epoch %q after %q", again.Epoch, lead.Epoch)
				}
				if how == blackboard.LossEmpty {
					wantError(t, "a heartbeat of an unknown agent", w.b.Cub.Beat(w.ctx, "writer", "i1", time.Hour), blackboard.ErrRefused)
				}
				must(t, w.b.Cub.Hello(w.ctx, "writer", p, time.Hour))
				must(t, w.b.Cub.Beat(w.ctx, "writer", "i1", time.Hour))
			})
		})
	}
}

// A board gets one mark, with one entry in its ledger, and keeps it.
func TestSettle(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		entries := func() (n int) {
			all, err := w.b.Ledger.History(w.ctx, "0-0", 100)
			must(t, err)
			for _, e := range all {
				if e.Kind == blackboard.EventSettled {
					n++
				}
			}
			return n
		}
		if known, err := w.b.Look(w.ctx); known.ID != "" || err != nil {
			t.Errorf("before: %+v, %v", known, err)
		}
		first, err := w.b.Settle(w.ctx, "one", false, "test")
		must(t, err)
		if first.ID != "one" || first.Entries != 2 || first.Epoch == 0 || entries() != 1 {
			t.Errorf("%+v with %d entries", first, entries())
		}
		other, err := open(t, s.url).Settle(w.ctx, "two", false, "test")
		must(t, err)
		if other != first || entries() != 1 {
			t.Errorf("%+v with %d entries", other, entries())
		}
		adopted, err := w.b.Settle(w.ctx, "three", true, "test")
		must(t, err)
		if adopted.ID != "one" || adopted.Adopted != 1 || entries() != 2 {
			t.Errorf("%+v with %d entries", adopted, entries())
		}
	})
}
