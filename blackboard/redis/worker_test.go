package redis

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// hello registers a worker for a minute.
func (w *world) hello(agent string, worker blackboard.Worker) {
	w.Helper()
	must(w, w.b.Cub.HelloWorker(w.ctx, agent, worker, time.Minute))
}

// workers returns an agent's workers as "incarnation claim attempt", sorted.
func (w *world) workers(agent string) []string {
	w.Helper()
	all, err := w.b.Roster.Workers(w.ctx, agent)
	must(w, err)
	out := []string{}
	for incarnation, worker := range all {
		if worker.Incarnation != incarnation {
			w.Errorf("worker %s is %+v", incarnation, worker)
		}
		out = append(out, fmt.Sprintf("%s %s %d", incarnation, worker.Claim, worker.Attempt))
	}
	slices.Sort(out)
	return out
}

// A worker waits, is told its claim once, is told nothing else, works, and is
// forgotten.
func TestStandby(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim, next := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		w.hello("a", blackboard.Worker{Incarnation: "w1"})
		w.hello("b", blackboard.Worker{Incarnation: "w2"})
		now, err := w.b.ServerTime(w.ctx)
		must(t, err)
		all, err := w.b.Roster.Workers(w.ctx, "a")
		must(t, err)
		if left := all["w1"].Alive.Sub(now); left < 50*time.Second || left > time.Minute || len(all) != 1 {
			t.Errorf("alive for %s, of %d", left, len(all))
		}
		assigned, err := w.b.Roster.Assignment(w.ctx, "a", "w1")
		if err != nil || assigned != "" {
			t.Errorf("assigned %q, %v", assigned, err)
		}
		w.twice("assign", func() error { return w.b.Leader.Assign(w.ctx, w.epoch, "a", "w1", claim, 1) })
		e := w.lastEvent()
		if e.Kind != blackboard.EventAssign || e.Claim != claim || e.Agent != "a" || e.Phase != "exclusive" ||
			e.Attributes["holder"] != "w1" || e.Attributes["attempt"] != "1" || e.Workflow == "" {
			t.Errorf("ledger %+v", e)
		}
		w.hello("a", blackboard.Worker{Incarnation: "w1"}) // its next heartbeat, from before it knew
		wantList(t, "workers", w.workers("a"), "w1 "+claim+" 1")
		if assigned, err = w.b.Roster.Assignment(w.ctx, "a", "w1"); err != nil || assigned != claim {
			t.Errorf("assigned %q, %v", assigned, err)
		}
		w.refuses("another claim", blackboard.ErrRefused, func() error { return w.b.Leader.Assign(w.ctx, w.epoch, "a", "w1", next, 1) })
		w.hello("a", blackboard.Worker{Incarnation: "w1", Claim: next})
		wantList(t, "a worker that names another claim", w.workers("a"), "w1 "+claim+" 1")
		w.start(claim, "a", "w1")
		w.twice("assign, its reply lost", func() error { return w.b.Leader.Assign(w.ctx, w.epoch, "a", "w1", claim, 1) })
		w.twice("forget", func() error { return w.b.Leader.ForgetWorker(w.ctx, "a", "w1") })
		wantList(t, "workers", w.workers("a"))
		wantList(t, "another agent's", w.workers("b"), "w2  0")
		if g := w.grantOf(claim, "a"); g.State != blackboard.GrantRunning || g.Holder != "w1" {
			t.Errorf("grant %+v", g)
		}
	})
}

// Only a worker that waits and lives is assigned a claim, only one that is queued
// at the attempt, only by the leader, and no two workers the same.
func TestAssignRefuses(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim, running := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		foreign := w.granted(blackboard.PhaseExclusive, "b")
		w.run(running, "a")
		w.hello("a", blackboard.Worker{Incarnation: "waits"})
		must(t, w.b.Cub.HelloWorker(w.ctx, "a", blackboard.Worker{Incarnation: "silent"}, -time.Second))
		for name, tc := range map[string]struct {
			epoch, worker, claim string
			attempt              int
			want                 error
		}{
			"not the leader":  {"0", "waits", claim, 1, blackboard.ErrStale},
			"unknown worker":  {w.epoch, "nobody", claim, 1, blackboard.ErrRefused},
			"silent worker":   {w.epoch, "silent", claim, 1, blackboard.ErrRefused},
			"another attempt": {w.epoch, "waits", claim, 2, blackboard.ErrRefused},
			"runs already":    {w.epoch, "waits", running, 1, blackboard.ErrRefused},
			"another's grant": {w.epoch, "waits", foreign, 1, blackboard.ErrRefused},
			"no such claim":   {w.epoch, "waits", newID(), 1, blackboard.ErrRefused},
			"no claim at all": {w.epoch, "waits", "", 1, blackboard.ErrRefused},
		} {
			w.refuses(name, tc.want, func() error { return w.b.Leader.Assign(w.ctx, tc.epoch, "a", tc.worker, tc.claim, tc.attempt) })
		}
		w.hello("a", blackboard.Worker{Incarnation: "has it", Claim: claim})
		wantList(t, "workers", w.workers("a"), "has it "+claim+" 1", "silent  0", "waits  0")
		second := func() error { return w.b.Leader.Assign(w.ctx, w.epoch, "a", "waits", claim, 1) }
		w.refuses("another living worker has it", blackboard.ErrRefused, second)
		must(t, w.b.Cub.HelloWorker(w.ctx, "a", blackboard.Worker{Incarnation: "has it", Claim: claim}, -time.Second))
		must(t, second())
	})
}

// A worker whose assignment came to nothing keeps it: it serves one claim. The
// grant's next attempt is another worker's.
func TestAssignedWorkerDies(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		w.hello("a", blackboard.Worker{Incarnation: "w1"})
		w.hello("a", blackboard.Worker{Incarnation: "w2"})
		must(t, w.b.Leader.Assign(w.ctx, w.epoch, "a", "w1", claim, 1))
		// It dies before it starts: the grant is still queued, at the same attempt.
		w.refuses("it may still live", blackboard.ErrRefused, func() error { return w.b.Leader.Assign(w.ctx, w.epoch, "a", "w2", claim, 1) })
		must(t, w.b.Leader.ForgetWorker(w.ctx, "a", "w1"))
		must(t, w.b.Leader.Assign(w.ctx, w.epoch, "a", "w2", claim, 1))
		// The next dies while it works, and is not forgotten yet.
		_, ref := w.start(claim, "a", "w2")
		must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
		w.hello("a", blackboard.Worker{Incarnation: "w3"})
		must(t, w.b.Leader.Assign(w.ctx, w.epoch, "a", "w3", claim, 2))
		wantList(t, "workers", w.workers("a"), "w2 "+claim+" 1", "w3 "+claim+" 2")
	})
}

// A new leader repeats what the one before may have done; the one before does
// nothing any more.
func TestAssignAcrossLeaders(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim, next := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		w.hello("a", blackboard.Worker{Incarnation: "w1"})
		w.hello("a", blackboard.Worker{Incarnation: "w2"})
		must(t, w.b.Leader.Assign(w.ctx, w.epoch, "a", "w1", claim, 1))
		old := w.epoch
		must(t, w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "orchestrator", Epoch: old}, 0))
		lead, _, err := w.b.Leader.TakeLead(w.ctx, "o2", "", time.Hour)
		must(t, err)
		must(t, w.b.Leader.Assign(w.ctx, lead.Epoch, "a", "w1", claim, 1))
		w.refuses("the old leader", blackboard.ErrStale, func() error { return w.b.Leader.Assign(w.ctx, old, "a", "w2", next, 1) })
		must(t, w.b.Leader.Assign(w.ctx, lead.Epoch, "a", "w2", next, 1))
	})
}

// The worker and the orchestrator are told.
func TestStandbyNotices(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		told, ready := make(chan string, 10), make(chan struct{}, 1)
		ctx := testContext(t)
		go func() {
			_ = w.b.Subscribe(ctx, []Channel{StandbyEvents("a"), OrchestratorEvents}, func() { ready <- struct{}{} },
				func(_ Channel, id string) { told <- id }, func(err error) { t.Error(err) })
		}()
		<-ready
		w.hello("a", blackboard.Worker{Incarnation: "busy", Claim: newID()}) // tells nobody
		w.hello("a", blackboard.Worker{Incarnation: "w1"})
		w.hello("a", blackboard.Worker{Incarnation: "w1"}) // nothing new
		must(t, w.b.Leader.Assign(w.ctx, w.epoch, "a", "w1", claim, 1))
		if got := <-told; got != "" {
			t.Errorf("the orchestrator is told %q", got)
		}
		who, which, ok := blackboard.ParseAssignment(<-told)
		if who != "w1" || which != claim || !ok {
			t.Errorf("the worker is told %q %q", who, which)
		}
	})
}

func TestParseAssignment(t *testing.T) {
	id := newID()
	for notice, want := range map[string]bool{
		"w1 " + id: true, "": false, "w1": false, id: false, " " + id: false, "w1 ": false, "w1 x": false, "w1 " + id + " ": false,
	} {
		if _, _, ok := blackboard.ParseAssignment(notice); ok != want {
			t.Errorf("%q: %v", notice, ok)
		}
	}
}

// An assignment survives a restart of the blackboard, though the registration
// before it need not; what was forgotten stays so.
func TestAssignmentIsKept(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim, over := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		for incarnation, claim := range map[string]string{"w1": claim, "w2": over} {
			w.hello("a", blackboard.Worker{Incarnation: incarnation})
			must(t, w.b.Leader.Assign(w.ctx, w.epoch, "a", incarnation, claim, 1))
		}
		must(t, w.b.Leader.ForgetWorker(w.ctx, "a", "w2"))
		s.kill()
		s.restart()
		wantList(t, "workers", w.workers("a"), "w1 "+claim+" 1")
	}, redistest.Durable...)
}

// Entries that nobody can read are nobody's; who writes them anew is known again.
func TestBrokenWorkers(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		for i, broken := range []string{"", "x", "1 2", "x - 0", "1 - x", "1 a b 2", "99999999999999999999 - 0"} {
			w.raw("HSET", w.b.c.Keys.Workers("a"), fmt.Sprintf("broken%d", i), broken)
			if got, err := w.b.Roster.Assignment(w.ctx, "a", fmt.Sprintf("broken%d", i)); err != nil || got != "" {
				t.Errorf("%q: assigned %q, %v", broken, got, err)
			}
		}
		wantList(t, "workers", w.workers("a"))
		w.refuses("a broken worker", blackboard.ErrRefused, func() error { return w.b.Leader.Assign(w.ctx, w.epoch, "a", "broken1", claim, 1) })
		w.hello("a", blackboard.Worker{Incarnation: "broken1"})
		must(t, w.b.Leader.Assign(w.ctx, w.epoch, "a", "broken1", claim, 1))
		wantList(t, "workers", w.workers("a"), "broken1 "+claim+" 1")
	})
}
