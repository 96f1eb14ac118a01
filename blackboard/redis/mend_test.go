package redis

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
	"sett/blackboard/redis/redistest"
)

// leadOf is a world with a leader, on a connection that mends the server, as an
// orchestrator's does.
func leadOf(t *testing.T, s *redistest.Server, mend bool) *world {
	t.Helper()
	w := &world{t, testContext(t), openOptions(t, store.Options{URL: s.URL, Instance: "test", Mend: mend}), ""}
	lead, _, err := w.b.Leader.TakeLead(w.ctx, "orchestrator", "orchestrator", time.Hour)
	must(t, err)
	w.epoch = lead.Epoch
	return w
}

// cut takes bytes from the end of the server's append-only file.
func cut(t *testing.T, s *redistest.Server, bytes int64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.Dir, "appendonlydir", "*.incr.aof"))
	must(t, err)
	if len(files) != 1 {
		t.Fatalf("append-only files: %q", files)
	}
	info, err := os.Stat(files[0])
	must(t, err)
	must(t, os.Truncate(files[0], max(info.Size()-bytes, 0)))
}

// use does work on the board: a goal from its post to its end.
func (w *world) use() {
	w.Helper()
	claim := w.granted(blackboard.PhaseExclusive, "a")
	x := w.finish(claim, "a", blackboard.Standard, "X", "x")
	must(w, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
	next := w.open(x.ID, "a")
	must(w, w.bid(next, "a", blackboard.BidIgnore))
	must(w, w.b.Leader.CompleteClaim(w.ctx, w.guard(next), ""))
}

// A server whose file is cut inside a transaction, and that is used and killed again,
// has exactly what it acknowledged: the file is rewritten before the first move.
func TestCutFile(t *testing.T) {
	s := redistest.Start(t, redistest.Durable...)
	leadOf(t, s, true).use()
	wrong := 0
	for bytes := int64(1); bytes <= 3000; bytes += 211 {
		s.Kill()
		cut(t, s, bytes)
		s.Restart()
		w := leadOf(t, s, true)
		w.use()
		want := w.dump()
		w.b.Close()
		s.Kill()
		s.Restart()
		w = &world{TB: t, ctx: testContext(t), b: open(t, s.URL)}
		if got := w.dump(); !maps.Equal(got, want) {
			wrong++
			t.Errorf("cut by %d bytes: the next start changed the keys", bytes)
		}
		w.b.Close()
	}
	if wrong > 0 {
		log, _ := os.ReadFile(filepath.Join(s.Dir, "redis.log"))
		t.Logf("%d wrong, truncated %d times", wrong, strings.Count(string(log), "Truncating the AOF"))
	}
}

// A new server is not told to rewrite the file it has just made.
func TestNewFileIsNotRewritten(t *testing.T) {
	s := redistest.Start(t, redistest.Durable...)
	w := leadOf(t, s, true)
	w.use()
	if info := w.raw("INFO", "persistence")[0]; !strings.Contains(info, "aof_last_rewrite_time_sec:-1") {
		t.Error("rewritten")
	}
	w.b.Close()
	s.Kill()
	s.Restart()
	leadOf(t, s, true)
	if info := open(t, s.URL); !strings.Contains((&world{TB: t, ctx: testContext(t), b: info}).raw("INFO", "persistence")[0], "aof_rewrites:1") {
		t.Error("not rewritten once")
	}
}

// Counts that half of a transaction spoilt are made anew from the claims before the next
// one of them falls below zero, with an entry in the ledger; the goal ends as it should.
func TestRecount(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for name, spoil := range map[string]func(w *world, goal string){
			"a count too low": func(w *world, goal string) { w.raw("HSET", w.b.c.Keys.Workflow(goal), "outstanding", "0") },
			"a goal that ended too early": func(w *world, goal string) {
				w.raw("HSET", w.b.c.Keys.Workflow(goal), "outstanding", "-1", "status", "stalled", "ended_at", "1")
				w.raw("ZREM", w.b.c.Keys.ActiveWorkflows(), goal)
			},
			"no index": func(w *world, goal string) {
				w.raw("HSET", w.b.c.Keys.Workflow(goal), "outstanding", "0")
				w.raw("DEL", w.b.c.Keys.OpenClaims())
			},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, s)
				w.raw("FLUSHALL")
				w = newWorld(t, s)
				claim := w.granted(blackboard.PhaseParallel, "a", "b")
				goal := w.snapshot(claim).Claim.WorkflowID
				x := w.finish(claim, "a", blackboard.Standard, "X", "x")
				w.finish(claim, "b", blackboard.Terminal, "T", "t")
				spoil(w, goal)
				if name != "no index" { // X waits for its claim, and counts
					w.raw("HINCRBY", w.b.c.Keys.Workflow(goal), "outstanding", "-1")
				}
				must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
				if wf := w.workflow(goal); wf.Outstanding != 1 || wf.Status != blackboard.WorkflowActive {
					t.Errorf("after the claim: %+v", wf)
				}
				kinds := []blackboard.EventKind{}
				for _, e := range w.events() {
					kinds = append(kinds, e.Kind)
				}
				if n := len(kinds); !slices.Equal(kinds[n-2:], []blackboard.EventKind{blackboard.EventRecount, blackboard.EventComplete}) {
					t.Errorf("the ledger ends with %v", kinds)
				}
				last := w.open(x.ID, "a")
				must(t, w.bid(last, "a", blackboard.BidIgnore))
				must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(last), ""))
				if wf := w.workflow(goal); wf.Outstanding != 0 || wf.Status != blackboard.WorkflowAchieved {
					t.Errorf("at the end: %+v", wf)
				}
			})
		}
	})
}

// A recount of what is right changes nothing, and is no entry.
func TestRecountOfRight(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b", "c")
		goal := w.snapshot(claim).Claim.WorkflowID
		w.finish(claim, "a", blackboard.Standard, "X", "x")
		w.finish(claim, "b", blackboard.Question, "Q", "q")
		w.finish(claim, "c", blackboard.Failure, "F", "f")
		before := w.dump()
		r, err := w.b.c.Do(w.ctx, "recount", goal, "to see")
		if err != nil || r.Status != "already" {
			t.Errorf("got %+v %v; the ledger ends with %+v", r, err, w.lastEvent())
		}
		if !maps.Equal(before, w.dump()) {
			t.Error("the keys changed")
		}
	})
}

// A leader that died after it had the file rewritten, and before it counted, leaves that
// to the next one.
func TestRecountAfterADeadLeader(t *testing.T) {
	s := redistest.Start(t, redistest.Durable...)
	w := leadOf(t, s, true)
	claim := w.granted(blackboard.PhaseParallel, "a")
	goal := w.snapshot(claim).Claim.WorkflowID
	w.raw("HSET", w.b.c.Keys.Workflow(goal), "outstanding", "7")
	w.b.Close()
	s.Kill()
	s.Restart()
	w = &world{TB: t, ctx: testContext(t), b: open(t, s.URL)}
	w.raw("BGREWRITEAOF")
	until(t, "the rewrite", func() bool { return strings.Contains(w.raw("INFO", "persistence")[0], "aof_rewrites:1\r") })
	until(t, "its end", func() bool { return strings.Contains(w.raw("INFO", "persistence")[0], "aof_rewrite_in_progress:0") })
	leadOf(t, s, true)
	if n := w.raw("HGET", w.b.c.Keys.Workflow(goal), "outstanding")[0]; n != "1" {
		t.Errorf("%s outstanding", n)
	}
}
