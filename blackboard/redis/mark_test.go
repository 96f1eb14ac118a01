package redis

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// losses are the ways in which a board can become another one than it was. Each gets a
// board with two leads, of which the caller keeps the second.
var losses = map[blackboard.Loss]func(w *world){
	blackboard.LossEmpty:   func(w *world) { w.raw("FLUSHALL") },
	blackboard.LossForeign: func(w *world) { w.raw("HSET", w.b.c.Keys.Instance(), "mark", "another") },
	blackboard.LossOlder:   func(w *world) { w.raw("DEL", w.b.c.Keys.Events()) },
	// An older copy that went on by itself, until it had as many entries again.
	"other entries": func(w *world) {
		w.raw("XDEL", w.b.c.Keys.Events(), w.b.Known().Last)
		w.raw("XADD", w.b.c.Keys.Events(), "*", "kind", "goal")
	},
	"older epoch":    func(w *world) { w.raw("SET", w.b.c.Keys.Epoch(), "1 x") },
	"older adoption": func(w *world) { w.raw("HDEL", w.b.c.Keys.Instance(), "adopted") },
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
					if (what == "hello" || what == "beat") && (how == blackboard.LossOlder || how == "other entries") {
						must(t, err) // agents may not read the ledger
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
				var e blackboard.Event
				for _, one := range w.events() {
					if one.Kind == blackboard.EventSettled {
						e = one
					}
				}
				want := map[string]string{"by": "a person", "mark": adopted.ID, "entries": strconv.FormatInt(adopted.Entries-1, 10),
					"known_entries": strconv.FormatInt(before.Entries, 10), "known_last": before.Last}
				for name, value := range want {
					if e.Reason != "adopted" || e.Attributes[name] != value || e.Attributes["loss"] == "" || how == blackboard.LossForeign && e.Attributes["known_mark"] != "mine" {
						t.Errorf("%s: want %s in %+v", name, value, e)
					}
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

// disk is a server's data, and copies of it.
type disk struct {
	testing.TB
	s    *redistest.Server
	data string
}

// onDisks runs a test on servers whose data can be replaced.
func onDisks(t *testing.T, test func(d *disk, w *world)) {
	t.Helper()
	for name, start := range map[string]func(testing.TB) *redistest.Server{
		"redis":    func(tb testing.TB) *redistest.Server { return redistest.Start(tb, redistest.Durable...) },
		"embedded": redistest.Embedded,
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{t, start(t), ""}
			if d.data = d.s.Dir; name == "redis" {
				d.data = filepath.Join(d.s.Dir, "appendonlydir")
			}
			w := newWorld(t, &server{d.s.URL, d.s.Kill, d.s.Restart})
			_, err := w.b.Settle(w.ctx, "mine", false, "test")
			must(t, err)
			test(d, w)
		})
	}
}

// swap puts a copy in the place of the data (empty: leaves them), and returns a copy of
// these.
func (d *disk) swap(by string) (kept string) {
	d.Helper()
	kept = filepath.Join(d.TempDir(), "copy")
	d.s.Kill()
	must(d, os.CopyFS(kept, os.DirFS(d.data)))
	if by != "" {
		must(d, os.RemoveAll(d.data))
		must(d, os.CopyFS(d.data, os.DirFS(by)))
	}
	d.s.Restart()
	return kept
}

// An older copy of the data that has as many entries again is found, by who saw one that
// it lacks.
func TestOlderCopyGoneOn(t *testing.T) {
	onDisks(t, func(d *disk, w *world) {
		copied := d.swap("")
		w.goal()
		seen, err := w.b.Look(w.ctx)
		must(d, err)
		d.swap(copied)
		later, err := Open(w.ctx, Options{URL: d.s.URL, Instance: "test"})
		must(d, err)
		defer later.Close()
		must(d, later.People.PostGoal(w.ctx, goal("another"), "ann"))
		met, err := later.Look(w.ctx)
		must(d, err)
		if met.Entries != seen.Entries || met.Epoch != seen.Epoch {
			d.Fatalf("%+v after %+v: the lengths tell them apart", met, seen)
		}
		var lost *blackboard.LostError
		if _, err := w.b.Look(w.ctx); !errors.As(err, &lost) || lost.Loss != blackboard.LossOlder {
			d.Errorf("the look says %v", err)
		}
	})
}

// A leader that has seen nothing of the ledger but what it wrote itself decides nothing on
// an older copy, and goes on when the newer data are back.
func TestLeaderOnAnOlderCopy(t *testing.T) {
	onDisks(t, func(d *disk, w *world) {
		lead := blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}
		first, second := goal("first"), goal("second")
		must(d, w.b.People.PostGoal(w.ctx, first, "ann"))
		must(d, w.b.People.PostGoal(w.ctx, second, "ann"))
		must(d, w.b.Leader.RenewLead(w.ctx, lead, time.Hour))
		copied := d.swap("")
		_, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, first.ID, nil, 0) // on a new connection, so that the next one counts
		must(d, err)
		_, _, err = w.b.Leader.OpenClaim(w.ctx, w.epoch, second.ID, nil, 0)
		must(d, err)
		known := w.b.Known()
		newer := d.swap(copied)
		for range 2 {
			_, _, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, second.ID, nil, 0)
			wantError(d, "a decision on the copy", err, blackboard.ErrLost)
		}
		d.swap(newer)
		for _, g := range []blackboard.Artefact{first, second} {
			_, _, err = w.b.Leader.OpenClaim(w.ctx, w.epoch, g.ID, nil, 0)
			must(d, err)
		}
		must(d, w.b.Leader.RenewLead(w.ctx, lead, time.Hour))
		if now := w.b.Known(); now.After(known) != now {
			d.Errorf("it knows %+v after %+v", now, known)
		}
	})
}

// A leader sees the entry of each of its moves, so that it knows an older copy by the lack of it.
func TestLeaderSeesItsEntries(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		_, err := w.b.Settle(w.ctx, "mine", true, "test")
		must(t, err)
		sees := func(what string, err error) {
			t.Helper()
			must(t, err)
			if known, last := w.b.Known().Last, w.lastEvent().ID; known != last {
				t.Errorf("%s: the last entry it knows is %s, and the ledger's is %s", what, known, last)
			}
		}
		claim := w.granted(blackboard.PhaseExclusive, "a")
		c, ref := w.run(claim, "a")
		k := conflictOf(c, "bb")
		must(t, w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: ref, Conflict: k}))
		sees("unclash", w.b.Leader.Unclash(w.ctx, blackboard.Unclash{Epoch: w.epoch, Claim: claim, Agent: "a", Conflict: k.ID, Settled: c.ArtefactID}))

		first := w.granted(blackboard.PhaseParallel, "a")
		x := w.finish(first, "a", blackboard.Standard, "X", "")
		own := w.open(x.ID, "a")
		must(t, w.bid(own, "a", blackboard.BidIgnore))
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(own), ""))
		sees("conflict_rework", w.b.Leader.ReworkConflict(w.ctx, blackboard.ConflictRework{
			Epoch: w.epoch, Artefact: x.ID,
			Review: blackboard.Artefact{
				ID: blackboard.ConflictReviewID(k.ID, ""), StructuralType: blackboard.Review, Type: blackboard.TypeConflictReview,
				Payload: "no", SourceArtefacts: []string{x.ID}, ProducedByRole: blackboard.RoleRepository, WorkflowID: x.WorkflowID,
			},
			Rework: blackboard.Rework{ClaimID: blackboard.ConflictReworkID(k.ID, ""), Agent: "a", Context: []string{blackboard.ConflictReviewID(k.ID, "")}},
		}))

		sees("lands", w.b.Leader.SetLanding(w.ctx, w.epoch, "main"))
		done, result := w.achieved()
		sees("land", w.b.Leader.Land(w.ctx, blackboard.LandingStep{
			Epoch: w.epoch, Workflow: done, From: *w.workflow(done).Landing,
			To: blackboard.Landing{State: blackboard.LandingBarred, Artefact: result, Branch: "main", Reason: "checked out", People: true},
		}))
		limit := failure(done, blackboard.TypeWorkflowLimit)
		sees("refuse", w.b.Leader.RefuseClaim(w.ctx, w.epoch, k.ID, "limit", limit))
	})
}

// An older copy keeps no courses once a leader or an agent has met it, so that scripts grant
// nothing there.
func TestOlderCopyLosesItsCourses(t *testing.T) {
	for name, meets := range map[string]func(w *world) error{
		"leader": func(w *world) error {
			return w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "test", Epoch: w.epoch}, time.Hour)
		},
		"candidate": func(w *world) error {
			_, _, err := w.b.Leader.TakeLead(w.ctx, "other", "", time.Hour)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			onDisks(t, func(d *disk, w *world) {
				w.enact("s1")
				w.opens("s1", blackboard.OpeningCourse{Bids: table("a=exclusive"), Steps: "exclusive:a"})
				copied := d.swap("")
				w.goal()
				_, err := w.b.Look(w.ctx)
				must(d, err)
				newer := d.swap(copied)
				wantError(d, "a move on the copy", meets(w), blackboard.ErrLost)
				if fields := w.raw("HKEYS", w.b.c.Keys.Courses()); len(fields) != 2 {
					d.Errorf("the copy has %q, want a revision and settings alone", fields)
				}
				d.swap(newer)
				_, err = w.b.Look(w.ctx) // on a new connection
				must(d, err)
				if fields := w.raw("HKEYS", w.b.c.Keys.Courses()); len(fields) != 3 {
					d.Errorf("the newer data have %q", fields)
				}
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
