package redis

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"sett/blackboard"
)

// A script that makes several moves appends one entry. It is read as the events of all of
// them, in their order, from any of them on, and exported as such; where the clock was set
// back the events are entries.
func TestOneEntryOfAScript(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.enact("s1")
		w.opens("s1", blackboard.OpeningCourse{Bids: table("a=review b=exclusive"), Steps: "review:a;exclusive:b"})
		entries := func() int {
			n, err := strconv.Atoi(w.raw("XLEN", w.b.c.Keys.Events())[0])
			must(t, err)
			return n
		}
		want := []string{"goal", "open", "bid", "bid", "grant"}
		before, from := entries(), w.lastEvent().ID
		g := w.goal()
		claim := blackboard.BiddingClaimID(g.ID)
		w.tells(from, want)
		if after := entries(); after != before+1 {
			t.Errorf("%d entries, before it were %d", after, before)
		}
		w.finish(claim, "a", blackboard.Review, "Review", "{}")
		w.finish(claim, "b", blackboard.Terminal, "Done", "x")
		want = append(want, "start", "result", "grant", "start", "result", "complete")
		all := w.tells(from, want)
		for _, e := range all {
			if e.Workflow != g.ID || (e.Claim != claim) != (e.Kind == blackboard.EventGoal) || len(e.Attributes["then"]) > 0 {
				t.Errorf("event %+v", e)
			}
		}
		exported := 0
		for _, line := range w.export("") {
			for _, e := range all {
				if strings.HasPrefix(line, `{"kind":"event","id":"`+e.ID+`"`) {
					exported++
				}
			}
		}
		if exported != len(all) {
			t.Errorf("%d of %d events are in the export", exported, len(all))
		}
		copied := fresh(t, otherKind(t))
		_, err := copied.imports(w.export(""))
		must(t, err)
		if got := copied.after(from)[:len(all)]; !reflect.DeepEqual(got, all) {
			t.Errorf("imported\n%+v\nexported\n%+v", got, all)
		}

		w.raw("XADD", w.b.c.Keys.Events(), "99999999999999-7", "kind", "forged")
		before = entries()
		w.goal()
		w.tells("99999999999999-7", []string{"goal", "open", "bid", "bid", "grant"})
		if after := entries(); after != before+5 {
			t.Errorf("%d entries with a clock that was set back, before it were %d", after, before)
		}
	})
}

// after reads the events after a position.
func (w *world) after(position string) []blackboard.Event {
	w.Helper()
	all, err := w.b.Ledger.History(w.ctx, position, 1000)
	must(w, err)
	return all
}

// tells reads the events after a position at once, from each of them on, in pages and by
// following, and compares their kinds.
func (w *world) tells(position string, kinds []string) []blackboard.Event {
	w.Helper()
	all := w.after(position)
	var got []string
	for i, e := range all {
		got = append(got, string(e.Kind))
		if i > 0 && !blackboard.IsAfter(e.ID, all[i-1].ID) {
			w.Errorf("event %s comes behind %s", e.ID, all[i-1].ID)
		}
		if rest := w.after(e.ID); len(rest) != len(all)-i-1 || len(rest) > 0 && !reflect.DeepEqual(rest, all[i+1:]) {
			w.Errorf("after %s there are %d events, want %d", e.ID, len(rest), len(all)-i-1)
		}
		page, err := w.b.Ledger.History(w.ctx, e.ID, 2)
		must(w, err)
		if want := all[i+1 : min(i+3, len(all))]; len(page) != len(want) || len(want) > 0 && !reflect.DeepEqual(page, want) {
			w.Errorf("a page after %s has %d events, want %d", e.ID, len(page), len(want))
		}
		if i == len(all)-1 {
			break
		}
		enough := errors.New("enough")
		var followed []blackboard.Event
		err = w.b.Ledger.Follow(w.ctx, e.ID, func(next blackboard.Event) error {
			if followed = append(followed, next); len(followed) == len(all)-i-1 {
				return enough
			}
			return nil
		}, func(error) {})
		if !errors.Is(err, enough) && !errors.Is(err, context.Canceled) || !reflect.DeepEqual(followed, all[i+1:]) {
			w.Errorf("followed after %s: %d events, %v", e.ID, len(followed), err)
		}
	}
	wantList(w, "events", got, kinds...)
	return all
}
