package redis

import (
	"errors"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// An entry that was removed from the ledger is noticed where the server tells, also when another one makes up for it.
// Neither an import nor a user that may not ask is a reason to say so.
func TestRemovedEntries(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := fresh(t, s)
		none := func(when string) {
			t.Helper()
			if removed, err := w.b.Ledger.Removed(w.ctx); err != nil || removed != nil {
				t.Errorf("%s: %v, %v", when, removed, err)
			}
		}
		none("an empty board")
		from := newWorld(t, startEmbedded(t))
		history(from)
		_, err := w.imports(from.export(""))
		must(t, err)
		must(t, w.b.People.PostGoal(w.ctx, goal("x"), "ann"))
		none("an import")
		events := w.events()
		last := events[len(events)-1].ID
		w.raw("XDEL", w.b.c.Keys.Events(), events[2].ID, last)
		w.raw("XADD", w.b.c.Keys.Events(), "*", "kind", "models")
		if strings.HasSuffix(t.Name(), "embedded") {
			none("the embedded one does not tell")
			return
		}
		if removed, err := w.b.Ledger.Removed(w.ctx); err != nil || removed == nil || *removed != (blackboard.RemovedError{Entries: 2, Last: last}) {
			t.Errorf("removed are %v: %v", removed, err)
		}
		_, broken := w.exportBroken("")
		if want := "2 entries were removed from the ledger, the latest at " + last; !strings.Contains(strings.Join(broken, "\n"), want) {
			t.Errorf("the export says %q", broken)
		}
		w.raw("XTRIM", w.b.c.Keys.Events(), "MAXLEN", "1")
		if removed, err := w.b.Ledger.Removed(w.ctx); err != nil || removed == nil || removed.Entries < 50 {
			t.Errorf("trimmed are %v: %v", removed, err)
		}
	})
}

// A user that may not ask for removed entries is told so, and exports all the same.
func TestRemovedEntriesDenied(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	w.goal()
	b := open(t, limited(t, w, "shy", "-xinfo"))
	_, err := b.Ledger.Removed(w.ctx)
	if denied := (*blackboard.DeniedError)(nil); !errors.As(err, &denied) {
		t.Errorf("%v", err)
	}
	w.b = b
	w.export("")
}

// Entries that were removed are told from an older copy, where the server knows.
func TestRemovedIsNoOlderCopy(t *testing.T) {
	r := redistest.Start(t)
	w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
	_, err := w.b.Settle(w.ctx, "mine", false, "ann")
	must(t, err)
	history(w)
	_, err = w.b.Look(w.ctx)
	must(t, err)
	key := w.b.c.Keys.Events()
	middle := w.events()[4].ID
	w.raw("XDEL", key, middle)
	_, err = w.b.Look(w.ctx)
	var lost *blackboard.LostError
	if !errors.As(err, &lost) || lost.Removed == nil || lost.Removed.Entries != 1 || lost.Removed.Last != middle || !strings.Contains(err.Error(), "1 entry was removed from the ledger") {
		t.Errorf("it says %v", err)
	}
	last, err := w.b.Ledger.Last(w.ctx)
	must(t, err)
	w.raw("XSETID", key, last, "ENTRIESADDED", w.raw("XLEN", key)[0], "MAXDELETEDID", "0-0") // an older copy never had it
	_, err = w.b.Look(w.ctx)
	if !errors.As(err, &lost) || lost.Removed != nil || !strings.Contains(err.Error(), "it is an older copy") {
		t.Errorf("of an older copy it says %v", err)
	}
}
