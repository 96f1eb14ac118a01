package redis

import (
	"strconv"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
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

// After its clock was set far ahead and back a server goes by the new time: spans, leases and promises last as long as they should,
// and the ledger says the true time. Only its entries wait for the clock.
func TestClockIsFollowed(t *testing.T) {
	for name, start := range map[string]func(t *testing.T) *redistest.Server{
		"redis":    func(t *testing.T) *redistest.Server { return redistest.StartWithClock(t) },
		"embedded": func(t *testing.T) *redistest.Server { return redistest.Embedded(t) },
	} {
		t.Run(name, func(t *testing.T) {
			r := start(t)
			w := newWorld(t, &server{r.URL, r.Kill, r.Restart})
			lead := blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}
			off := func() time.Duration {
				now, err := w.b.ServerTime(w.ctx)
				must(t, err)
				return time.Until(now).Round(time.Minute)
			}
			for i, by := range []time.Duration{-time.Hour, 48 * time.Hour, 0} {
				r.Shift(by)
				if got := off(); got != by {
					t.Fatalf("shifted by %s, its time is off by %s", by, got)
				}
				must(t, w.b.Leader.RenewLead(w.ctx, lead, time.Minute))
				_, wait, err := w.b.Leader.TakeLead(w.ctx, "another", "", time.Minute)
				must(t, err)
				if wait <= 0 || wait > time.Minute {
					t.Errorf("shifted by %s: the lease goes on for %s", by, wait)
				}
				must(t, w.b.Cub.Hello(w.ctx, "a", blackboard.Presence{Incarnation: "i" + strconv.Itoa(i)}, time.Minute))
				agents, err := w.b.Roster.Agents(w.ctx)
				must(t, err)
				if left := time.Until(agents["a"].Alive) - by; left > time.Minute || left < 30*time.Second {
					t.Errorf("shifted by %s: the agent lives for %s", by, left)
				}
				g := goal("g" + strconv.Itoa(i))
				must(t, w.b.People.PostGoal(w.ctx, g, "ann"))
				began := w.workflow(g.ID).CreatedAt
				<-time.After(5 * time.Millisecond)
				now, err := w.b.ServerTime(w.ctx)
				must(t, err)
				if span := now.Sub(began); span < 5*time.Millisecond || span > time.Minute {
					t.Errorf("shifted by %s: a span of %s", by, span)
				}
			}
			clocks, last := 0, time.Time{}
			for _, e := range w.events() {
				if e.Kind == blackboard.EventClock {
					clocks++
				}
				if e.Time.Before(last) {
					t.Errorf("an entry before the one before it: %+v", e)
				}
				last = e.Time
			}
			if clocks != 2 { // set back by an hour, and by two days
				t.Errorf("%d entries that say the time, want 2", clocks)
			}
			if name == "embedded" {
				r.Kill()
				r.Restart()
				if got := off(); got != 0 {
					t.Errorf("after a restart its time is off by %s", got)
				}
			}
		})
	}
}
