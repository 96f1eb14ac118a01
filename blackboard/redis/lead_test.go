package redis

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// One leads; who comes second is told how long to wait; every change of hands
// fences the one before.
func TestLead(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, b := testContext(t), open(t, s.url)
		first, _, err := b.Leader.TakeLead(ctx, "o1", "", time.Hour)
		must(t, err)
		again, _, err := b.Leader.TakeLead(ctx, "o1", "", time.Hour)
		must(t, err)
		if first.Epoch == "" || again != first {
			t.Errorf("taken twice: %+v, then %+v", first, again)
		}
		none, wait, err := b.Leader.TakeLead(ctx, "o2", "", time.Hour)
		must(t, err)
		if none.Epoch != "" || wait < 59*time.Minute || wait > time.Hour {
			t.Errorf("second holder: %+v, waits %s", none, wait)
		}
		must(t, b.Leader.RenewLead(ctx, first, time.Minute))
		if _, wait, _ = b.Leader.TakeLead(ctx, "o2", "", time.Hour); wait > time.Minute || wait < 50*time.Second {
			t.Errorf("after the renewal: waits %s", wait)
		}
		must(t, b.Leader.RenewLead(ctx, first, 0))
		second, _, err := b.Leader.TakeLead(ctx, "o2", "", time.Hour)
		must(t, err)
		if second.Epoch == "" || second.Epoch == first.Epoch {
			t.Errorf("second holder: %+v after %+v", second, first)
		}
		wantError(t, "renewing a lead that is over", b.Leader.RenewLead(ctx, first, time.Hour), blackboard.ErrStale)
		g := goal("x")
		must(t, b.People.PostGoal(ctx, g, "ann"))
		_, _, err = b.Leader.OpenClaim(ctx, first.Epoch, g.ID, nil, 0)
		wantError(t, "deciding with a lead that is over", err, blackboard.ErrStale)
		_, _, err = b.Leader.OpenClaim(ctx, second.Epoch, g.ID, nil, 0)
		must(t, err)
	})
}

// A server that forgot a lead, or all it had, gives out no epoch again: the leader it
// forgot is fenced.
func TestEpochsNeverRepeat(t *testing.T) {
	forget := map[string]func(w *world){
		"a failover that forgot the lead": func(w *world) { w.raw("DEL", w.b.c.Keys.Leader(), w.b.c.Keys.Epoch()) },
		"all is gone":                     func(w *world) { w.raw("FLUSHALL") },
		"an epoch of before":              func(w *world) { w.raw("DEL", w.b.c.Keys.Leader()); w.raw("SET", w.b.c.Keys.Epoch(), "1") },
		"a clock that went back": func(w *world) {
			w.raw("DEL", w.b.c.Keys.Leader())
			w.raw("SET", w.b.c.Keys.Epoch(), "4000000000000000 orchestrator")
		},
	}
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		seen := map[string]bool{w.epoch: true}
		first := blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}
		for _, name := range slices.Sorted(maps.Keys(forget)) {
			for _, holder := range []string{"orchestrator", "other"} {
				forget[name](w)
				second, _, err := w.b.Leader.TakeLead(w.ctx, holder, "", time.Hour)
				must(t, err)
				if seen[second.Epoch] || second.Epoch == "" {
					t.Errorf("%s, %s: epoch %q again", name, holder, second.Epoch)
				}
				seen[second.Epoch] = true
				wantError(t, name+": the lead before", w.b.Leader.RenewLead(w.ctx, first, time.Hour), blackboard.ErrStale)
				_, _, err = w.b.Leader.OpenClaim(w.ctx, first.Epoch, newID(), nil, 0)
				wantError(t, name+": deciding with it", err, blackboard.ErrStale)
				must(t, w.b.Leader.RenewLead(w.ctx, second, time.Hour))
				first = second
			}
		}
	})
}

// Two holders with the same number are two leads: only the server's own renews.
func TestEpochHasItsHolder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		lead, _, err := w.b.Leader.TakeLead(w.ctx, "orchestrator", "", time.Hour)
		must(t, err)
		twin := blackboard.Lead{Holder: "twin", Epoch: lead.Number() + " twin"}
		wantError(t, "the twin", w.b.Leader.RenewLead(w.ctx, twin, time.Hour), blackboard.ErrStale)
		must(t, w.b.Leader.RenewLead(w.ctx, lead, time.Hour))
	})
}

// A lease that runs out unrenewed is up for taking.
func TestLeadExpires(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, b := testContext(t), open(t, s.url)
		first, _, err := b.Leader.TakeLead(ctx, "o1", "", 40*time.Millisecond)
		must(t, err)
		var second blackboard.Lead
		until(t, "the lease runs out", func() bool {
			second, _, err = b.Leader.TakeLead(ctx, "o2", "", time.Hour)
			must(t, err)
			return second.Epoch != ""
		})
		wantError(t, "renewing late", b.Leader.RenewLead(ctx, first, time.Hour), blackboard.ErrStale)
	})
}

// A lease by a clock that was set back since lasts no longer than one from now. Who holds
// it and lives keeps it.
func TestLeadOfASetBackClock(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		now, err := w.b.ServerTime(w.ctx)
		must(t, err)
		ahead := func() {
			w.raw("SET", w.b.c.Keys.Leader(), "orchestrator "+store.Micros(time.Duration(now.Add(time.Hour).UnixNano())))
		}
		waits := func(lease time.Duration) time.Duration {
			none, wait, err := w.b.Leader.TakeLead(w.ctx, "o2", "", lease)
			must(t, err)
			if none.Epoch != "" {
				t.Fatalf("it leads at once: %+v", none)
			}
			return wait
		}
		ahead()
		if wait := waits(time.Minute); wait > time.Minute {
			t.Errorf("it waits %s for a lease of a minute", wait)
		}
		must(t, w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}, 10*time.Second))
		if wait := waits(time.Minute); wait > 10*time.Second {
			t.Errorf("after a renewal it waits %s", wait)
		}
		ahead()
		waits(40 * time.Millisecond)
		until(t, "the lease runs out", func() bool {
			second, _, err := w.b.Leader.TakeLead(w.ctx, "o2", "", 40*time.Millisecond)
			must(t, err)
			return second.Epoch != ""
		})
	})
}

// Who sits on the seat of a dead leader need not wait for its lease to run out.
func TestLeadOfTheSameSeat(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, b := testContext(t), open(t, s.url)
		first, _, err := b.Leader.TakeLead(ctx, "here/1", "here/", time.Hour)
		must(t, err)
		if none, _, _ := b.Leader.TakeLead(ctx, "there/1", "there/", time.Hour); none.Epoch != "" {
			t.Errorf("another seat leads: %+v", none)
		}
		second, _, err := b.Leader.TakeLead(ctx, "here/2", "here/", time.Hour)
		must(t, err)
		if second.Epoch == "" || second.Epoch == first.Epoch {
			t.Errorf("the same seat: %+v after %+v", second, first)
		}
		wantError(t, "the first", b.Leader.RenewLead(ctx, first, time.Hour), blackboard.ErrStale)
	})
}

// The registry keeps the last incarnation of each agent and until when it counts
// as alive.
func TestPresence(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, b := testContext(t), open(t, s.url)
		none, err := b.Roster.Agents(ctx)
		must(t, err)
		if len(none) != 0 {
			t.Errorf("agents before the first: %v", none)
		}
		p := blackboard.Presence{Incarnation: "i1", Mode: "standard", Version: "v1", PID: 7, Health: "127.0.0.1:1", Run: "r", Config: "c", Since: "2026-01-02T03:04:05Z"}
		must(t, b.Cub.Hello(ctx, "a", p, time.Minute))
		must(t, b.Cub.Hello(ctx, "b", blackboard.Presence{Incarnation: "x"}, time.Minute))
		now, err := b.ServerTime(ctx)
		must(t, err)
		all, err := b.Roster.Agents(ctx)
		must(t, err)
		got := all["a"]
		if left := got.Alive.Sub(now); left < 50*time.Second || left > time.Minute || len(all) != 2 {
			t.Errorf("alive for %s, of %d", left, len(all))
		}
		p.Agent, p.Alive = "a", got.Alive
		if got != p {
			t.Errorf("got %+v, want %+v", got, p)
		}
		must(t, b.Cub.Beat(ctx, "a", "i1", time.Hour))
		all, err = b.Roster.Agents(ctx)
		must(t, err)
		if all["a"].Alive.Sub(now) < 59*time.Minute {
			t.Errorf("after the heartbeat: alive until %s", all["a"].Alive)
		}
		must(t, b.Cub.Hello(ctx, "a", blackboard.Presence{Incarnation: "i2"}, time.Minute))
		wantError(t, "a heartbeat of another incarnation", b.Cub.Beat(ctx, "a", "i1", time.Hour), blackboard.ErrRefused)
		must(t, b.Cub.Goodbye(ctx, "a", "i1", "late"))
		all, err = b.Roster.Agents(ctx)
		must(t, err)
		if all["a"].Incarnation != "i2" || all["a"].Alive.IsZero() {
			t.Errorf("a farewell of an earlier incarnation: %+v", all["a"])
		}
		must(t, b.Cub.Goodbye(ctx, "a", "i2", "stopped"))
		all, err = b.Roster.Agents(ctx)
		must(t, err)
		if !all["a"].Alive.IsZero() || all["b"].Alive.IsZero() {
			t.Errorf("after the farewell: %+v", all)
		}
		es, err := b.Ledger.History(ctx, blackboard.Beginning, 100)
		must(t, err)
		var story []string
		for _, e := range es {
			story = append(story, e.Agent+" "+e.To+" "+e.Reason)
		}
		wantList(t, "ledger", story, "a ready ", "b ready ", "a ready ", "a gone stopped")
	})
}

// A broken entry of the registry is an agent that never reported.
func TestBrokenPresence(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.raw("HSET", w.b.c.Keys.Agents(), "a", "{broken", "b", `{"incarnation":"i"}`)
		all, err := w.b.Roster.Agents(w.ctx)
		must(t, err)
		if len(all) != 2 || !all["a"].Alive.IsZero() || !all["b"].Alive.IsZero() || all["a"].Agent != "a" {
			t.Errorf("agents %+v", all)
		}
	})
}

// The names of things that are held over the wire hold no blanks.
func TestLeaderRecord(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.raw("SET", w.b.c.Keys.Leader(), "nonsense")
		lead, _, err := w.b.Leader.TakeLead(w.ctx, "o2", "", time.Hour)
		must(t, err)
		if lead.Epoch <= w.epoch || !strings.HasPrefix(w.raw("GET", w.b.c.Keys.Leader())[0], "o2 ") {
			t.Errorf("lead %+v over a broken record", lead)
		}
	})
}
