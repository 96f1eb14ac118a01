package redis

import (
	"strconv"
	"testing"
	"time"

	"sett/blackboard"
)

// After its clock was set back a server gives entries the time of the last one before that. The leader has the ledger
// say the time by the clock, once, and again after other entries.
func TestClockSetBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		lead := blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}
		clocks := func() (n int, last blackboard.Event) {
			for _, e := range w.events() {
				if e.Kind == blackboard.EventClock {
					n, last = n+1, e
				}
			}
			return n, last
		}
		renew := func(when string, want int) {
			t.Helper()
			must(t, w.b.Leader.RenewLead(w.ctx, lead, time.Hour))
			n, last := clocks()
			if n != want {
				t.Fatalf("%s: %d entries, want %d", when, n, want)
			}
			if n > 0 {
				at, err := strconv.ParseInt(last.Attributes["at"], 10, 64)
				if by := time.Since(time.UnixMicro(at)); err != nil || by < 0 || by > time.Hour || last.Time.Sub(time.UnixMicro(at)) < 23*time.Hour {
					t.Errorf("%s: %+v", when, last)
				}
			}
		}
		renew("before", 0)
		now, err := w.b.ServerTime(w.ctx)
		must(t, err)
		w.raw("XADD", w.b.c.Keys.Events(), strconv.FormatInt(now.Add(24*time.Hour).UnixMilli(), 10)+"-0", "kind", "models", "to", "running")
		renew("set back", 1)
		renew("nothing since", 1)
		must(t, w.b.People.PauseModels(w.ctx, true, "ann", ""))
		renew("another entry", 2)
	})
}
