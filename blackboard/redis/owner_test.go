package redis

import (
	"errors"
	"testing"
	"time"

	"sett/blackboard"
)

// A board belongs to the first workspace that asks, by its id: names do not matter. Another
// one gets it only from the owner that it names.
func TestOwn(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		owner := func(want blackboard.Owner) {
			t.Helper()
			if has, err := w.b.Owner(w.ctx); err != nil || has != want {
				t.Errorf("the owner is %+v, %v; want %+v", has, err, want)
			}
		}
		refused := func(err error, by blackboard.Owner) {
			t.Helper()
			var owned *blackboard.OwnedError
			if !errors.As(err, &owned) || owned.Owner != by || owned.Instance != "test" || owned.Addr != w.b.Addr() {
				t.Errorf("got %v, want that it belongs to %+v", err, by)
			}
		}
		owner(blackboard.Owner{})
		ann := blackboard.Owner{ID: "1", Workspace: "/home/ann/repo", Host: "here", User: "ann"}
		twin := ann
		twin.ID = "2"
		must(t, w.b.Own(w.ctx, ann, "", ""))
		must(t, w.b.Own(w.ctx, ann, "", ""))
		owner(ann)
		refused(w.b.Own(w.ctx, twin, "", ""), ann)
		refused(w.b.Own(w.ctx, twin, "3", "x"), ann)
		ann.Workspace, ann.Host = "/elsewhere", "there" // it was moved
		must(t, w.b.Own(w.ctx, ann, "", ""))
		owner(ann)
		must(t, w.b.Own(w.ctx, twin, ann.ID, ""))
		owner(twin)
		refused(w.b.Own(w.ctx, ann, "", ""), twin)
	})
}

// A board that is taken over with a new mark is another one to all parts that know the mark
// of before, and the ledger says from where it was taken.
func TestTakenOver(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.Own(w.ctx, blackboard.Owner{ID: "1", Workspace: "/one"}, "", ""))
		_, err := w.b.Settle(w.ctx, "first", false, "test")
		must(t, err)
		other := open(t, s.url)
		must(t, other.Own(w.ctx, blackboard.Owner{ID: "2", Workspace: "/two", User: "bob"}, "1", "second"))
		_, _, err = w.b.Leader.TakeLead(w.ctx, "o1", "o", time.Hour)
		wantError(t, "a leader of before", err, blackboard.ErrLost)
		mark, err := other.Settle(w.ctx, "third", false, "test")
		must(t, err)
		if mark.ID != "second" {
			t.Errorf("its mark is %q", mark.ID)
		}
		last, err := other.Ledger.Last(w.ctx)
		must(t, err)
		if last != mark.Last {
			t.Errorf("the last entry is %s, seen as %s", last, mark.Last)
		}
		events, err := other.Ledger.History(w.ctx, "0", 100)
		must(t, err)
		if e := events[len(events)-1]; e.Kind != blackboard.EventSettled || e.Reason != "taken over from /one" {
			t.Errorf("the last event is %+v", e)
		}
	})
}
