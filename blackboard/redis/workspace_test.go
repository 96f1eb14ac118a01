package redis

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

// uses returns who has the workspace or waits for it, in order.
func (w *world) uses() []string {
	w.Helper()
	all, err := w.b.Roster.Workspace(w.ctx)
	must(w, err)
	out := make([]string, len(all))
	for i, u := range all {
		what := "holds"
		if u.Waiting {
			what = "waits"
		}
		if u.Restore {
			what = "restore"
		}
		out[i] = fmt.Sprintf("%s %s %s", u.Agent, u.Mode, what)
	}
	return out
}

// try starts a grant and returns who is in its way.
func (w *world) try(claim, agent string, mode blackboard.WorkspaceMode) []string {
	w.Helper()
	st, _ := w.start(claim, agent, "h-"+agent, mode)
	out := make([]string, len(st.Blocked))
	for i, b := range st.Blocked {
		out[i] = strings.TrimPrefix(b, claim+":")
	}
	return out
}

func (w *world) done(claim, agent string) {
	w.Helper()
	c := w.snapshot(claim).Claim
	must(w, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: blackboard.GrantRef{Claim: claim, Agent: agent, Attempt: 1, Holder: "h-" + agent},
		Artefact: result(c, agent, blackboard.Standard, "X", "")}))
}

// Many readers or one writer, and who came first goes first.
func TestWorkspaceOrder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "r1", "r2", "r3", "w1", "w2")
		wantList(t, "r1", w.try(claim, "r1", blackboard.ReadOnly))
		wantList(t, "r2", w.try(claim, "r2", blackboard.ReadOnly))
		wantList(t, "w1", w.try(claim, "w1", blackboard.ReadWrite), "r1", "r2")
		wantList(t, "r3 behind the writer that waits", w.try(claim, "r3", blackboard.ReadOnly), "w1")
		wantList(t, "w2", w.try(claim, "w2", blackboard.ReadWrite), "r1", "r2", "r3", "w1")
		before := w.dump()
		wantList(t, "w1 asks again", w.try(claim, "w1", blackboard.ReadWrite), "r1", "r2")
		w.unchanged("asking again", before)
		wantList(t, "all", w.uses(), "r1 ro holds", "r2 ro holds", "w1 rw waits", "r3 ro waits", "w2 rw waits")

		w.done(claim, "r1")
		wantList(t, "w1 with a reader left", w.try(claim, "w1", blackboard.ReadWrite), "r2")
		w.done(claim, "r2")
		wantList(t, "r3 before its turn", w.try(claim, "r3", blackboard.ReadOnly), "w1")
		wantList(t, "w1 in its turn", w.try(claim, "w1", blackboard.ReadWrite))
		wantList(t, "r3 while it writes", w.try(claim, "r3", blackboard.ReadOnly), "w1")
		w.done(claim, "w1")
		wantList(t, "w2 before its turn", w.try(claim, "w2", blackboard.ReadWrite), "r3")
		wantList(t, "r3 in its turn", w.try(claim, "r3", blackboard.ReadOnly))
		w.done(claim, "r3")
		wantList(t, "w2 in its turn", w.try(claim, "w2", blackboard.ReadWrite))
		w.done(claim, "w2")
		wantList(t, "at the end", w.uses())
		var waits int
		for _, e := range w.events() {
			if e.Kind == blackboard.EventWait {
				waits++
			}
		}
		if waits != 3 {
			t.Errorf("%d waits in the ledger, want one each", waits)
		}
	})
}

// listen collects an agent's notices.
func (w *world) listen(agents ...string) <-chan string {
	w.Helper()
	ctx, cancel := context.WithCancel(w.ctx)
	notices, ready, ended := make(chan string, 100), make(chan struct{}, 10), make(chan struct{})
	channels := make([]Channel, len(agents))
	for i, a := range agents {
		channels[i] = AgentEvents(a)
	}
	go func() {
		defer close(ended)
		_ = w.b.Subscribe(ctx, channels, func() { ready <- struct{}{} },
			func(ch Channel, id string) { notices <- strings.TrimPrefix(ch.id, "agent ") + " " + id }, func(error) {})
	}()
	w.Cleanup(func() { cancel(); <-ended })
	select {
	case <-ready:
	case <-w.ctx.Done():
		w.Fatal("no subscription")
	}
	return notices
}

func (w *world) next(notices <-chan string) string {
	w.Helper()
	select {
	case n := <-notices:
		return n
	case <-w.ctx.Done():
		w.Fatal("no notice came")
		return ""
	}
}

// Who waits for the workspace is told when it may be tried again, the longest
// wait first.
func TestWorkspaceWakes(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b", "c")
		w.try(claim, "a", blackboard.ReadWrite)
		w.try(claim, "c", blackboard.ReadOnly)
		w.try(claim, "b", blackboard.ReadOnly)
		notices := w.listen("b", "c")
		w.done(claim, "a")
		wantList(t, "notices", []string{w.next(notices), w.next(notices)}, "c "+claim, "b "+claim)
		wantList(t, "c", w.try(claim, "c", blackboard.ReadOnly))
		wantList(t, "b, told again when c no longer waits", []string{w.next(notices)}, "b "+claim)
	})
}

// A cancelled writer that runs keeps the workspace until its tool has been
// stopped; one that only waits lets go at once.
func TestCancelledWriterKeepsItsHold(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim, other := w.granted(blackboard.PhaseParallel, "runs", "waits"), w.granted(blackboard.PhaseExclusive, "next")
		w.try(claim, "runs", blackboard.ReadWrite)
		w.try(claim, "waits", blackboard.ReadWrite)
		wantList(t, "next", w.try(other, "next", blackboard.ReadWrite), claim+":runs", claim+":waits")
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "cancelled", nil, nil))
		wantList(t, "after the end of the claim", w.uses(), "runs rw holds", "next rw waits")
		wantList(t, "next still", w.try(other, "next", blackboard.ReadWrite), claim+":runs")
		w.refuses("another holder's release", nil, func() error { return w.b.Cub.Release(w.ctx, claim, "runs", "h2", "") })
		notices := w.listen("next")
		w.twice("release", func() error { return w.b.Cub.Release(w.ctx, claim, "runs", "h-runs", "") })
		wantList(t, "notice", []string{w.next(notices)}, "next "+other)
		wantList(t, "next at last", w.try(other, "next", blackboard.ReadWrite))
	})
}

// What a dead writer left in the tree is put back before anybody works there.
func TestDeadWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "dies", "next")
		_, ref := w.start(claim, "dies", "h-dies", blackboard.ReadWrite)
		must(t, w.b.Cub.NoteBase(w.ctx, ref, "c0ffee", "main"))
		notices := w.listen("dies")
		w.twice("retry", func() error { return w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died") })
		wantList(t, "notices", []string{w.next(notices)}, "dies "+claim)
		wantList(t, "uses", w.uses(), "dies rw restore")
		use, err := w.b.Roster.Workspace(w.ctx)
		must(t, err)
		if u := use[0]; u.Base != "c0ffee" || u.Branch != "main" || u.Holder != "h-dies" || u.Attempt != 1 || u.Claim != claim {
			t.Errorf("use %+v", u)
		}
		if want := "dies (rw, claim " + blackboard.ShortID(claim) + ")"; use[0].String() != want {
			t.Errorf("for people: %s, want %s", use[0], want)
		}
		wantList(t, "next", w.try(claim, "next", blackboard.ReadOnly), "dies")
		wantList(t, "itself", w.try(claim, "dies", blackboard.ReadWrite), "dies", "next")
		w.twice("put back", func() error { return w.b.Cub.Release(w.ctx, claim, "dies", "", "refs/sett/kept") })
		if e := w.lastEvent(); e.Kind != blackboard.EventRestore || e.To != "c0ffee" || e.Attributes["leftovers"] != "refs/sett/kept" {
			t.Errorf("ledger %+v", e)
		}
		wantList(t, "next at last", w.try(claim, "next", blackboard.ReadOnly))
	})
}

// What a dead writer left is put back also when nobody is to work on its grant any
// more: whoever ends the attempt that is in line ends that, and not the restore.
func TestDeadWriterEndedInLine(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for what, end := range map[string]func(goalID, claim string) error{
			"a person cancels the claim": func(goalID, claim string) error {
				return w.b.People.CancelClaim(w.ctx, claim, cancelled(goalID, claim, goalID), "ann", "x")
			},
			"a person cancels the goal": func(goalID, claim string) error {
				return w.b.People.CancelWorkflow(w.ctx, goalID, cancelled(goalID, "", goalID), "ann", "x")
			},
			"a sibling fails": func(_, claim string) error {
				return w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "failed", nil, nil)
			},
			"its agent is removed": func(_, claim string) error {
				f := result(w.snapshot(claim).Claim, "", blackboard.Failure, blackboard.TypeAgentRemoved, "{}")
				return w.b.Leader.FailGrant(w.ctx, w.epoch, blackboard.GrantRef{Claim: claim, Agent: "dies", Attempt: 2}, "removed", f)
			},
		} {
			claim, other := w.granted(blackboard.PhaseExclusive, "dies"), w.granted(blackboard.PhaseExclusive, "next")
			_, ref := w.start(claim, "dies", "h-dies", blackboard.ReadWrite)
			must(t, w.b.Cub.NoteBase(w.ctx, ref, "c0ffee", "main"))
			must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
			wantList(t, what+": in line", w.try(claim, "dies", blackboard.ReadWrite), "dies")
			wantList(t, what+": next", w.try(other, "next", blackboard.ReadOnly), claim+":dies", claim+":dies")
			notices := w.listen("next")
			must(t, end(w.snapshot(claim).Claim.WorkflowID, claim))
			wantList(t, what, w.uses(), "dies rw restore", "next ro waits")
			wantList(t, what+": notice", []string{w.next(notices)}, "next "+other)
			wantList(t, what+": next while it is put back", w.try(other, "next", blackboard.ReadOnly), claim+":dies")
			must(t, w.b.Cub.Release(w.ctx, claim, "dies", "", ""))
			wantList(t, what+": next at last", w.try(other, "next", blackboard.ReadOnly))
			w.done(other, "next")
		}
	})
}

// A dead reader, or a writer that had not begun, leaves nothing to put back.
func TestDeadReader(t *testing.T) {
	for _, mode := range []blackboard.WorkspaceMode{blackboard.ReadOnly, blackboard.ReadWrite} {
		t.Run(string(mode), func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *server) {
				w := newWorld(t, s)
				claim := w.granted(blackboard.PhaseExclusive, "a")
				_, ref := w.start(claim, "a", "h", mode)
				must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
				wantList(t, "uses", w.uses())
			})
		})
	}
}

// The hold of a cancelled writer that died is not forgotten either.
func TestDeadCancelledWriter(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		_, ref := w.start(claim, "a", "h", blackboard.ReadWrite)
		must(t, w.b.Cub.NoteBase(w.ctx, ref, "c0ffee", "main"))
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "cancelled", nil, nil))
		must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
		wantList(t, "uses", w.uses(), "a rw restore")
		if g := w.grantOf(claim, "a"); g.State != blackboard.GrantCancelled {
			t.Errorf("grant %+v", g)
		}
	})
}

// A dead writer's own agent puts its tree back; another one only when nobody of
// that agent came for a while, and one at a time.
func TestWhoPutsTheTreeBack(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "dead")
		_, ref := w.start(claim, "dead", "h", blackboard.ReadWrite)
		must(t, w.b.Cub.NoteBase(w.ctx, ref, "c0ffee", "main"))
		u := blackboard.WorkspaceUse{Claim: claim, Agent: "dead"}
		w.refuses("a living writer's", blackboard.ErrRefused, func() error { return w.b.Cub.AdoptRestore(w.ctx, u, "dead", "d2") })
		must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
		w.refuses("too early for another", blackboard.ErrRefused, func() error { return w.b.Cub.AdoptRestore(w.ctx, u, "other", "o1") })
		must(t, w.b.Cub.AdoptRestore(w.ctx, u, "dead", "d2"))
		must(t, w.b.Cub.AdoptRestore(w.ctx, u, "dead", "d3")) // d2 died over it
		adopt := func(agent, incarnation string, patience string) string {
			r, err := w.b.c.Do(w.ctx, "adopt", claim, "dead", agent, incarnation, patience)
			must(t, err)
			return r.Status
		}
		for _, c := range []struct{ agent, incarnation, patience, want string }{
			{"other", "o1", "30000000", "refused"}, // d3 is at it
			{"other", "o1", "0", "ok"},             // nobody came for long
			{"third", "t1", "30000000", "refused"}, // o1 is at it
			{"other", "o1", "30000000", "refused"}, // its own agent may still come
		} {
			if got := adopt(c.agent, c.incarnation, c.patience); got != c.want {
				t.Errorf("%s after %s µs: %s, want %s", c.agent, c.patience, got, c.want)
			}
		}
		must(t, w.b.Cub.Hello(w.ctx, "dead", blackboard.Presence{Incarnation: "d4"}, time.Minute))
		if got := adopt("other", "o1", "0"); got != "refused" {
			t.Errorf("while its own agent lives: %s", got)
		}
	})
}

// A grant that ends keeps the commit that its tool found.
func TestGrantKeepsBase(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "w1", "r1")
		const commit = "1234567890123456789012345678901234567890"
		w.try(claim, "w1", blackboard.ReadWrite)
		must(w, w.b.Cub.NoteBase(w.ctx, blackboard.GrantRef{Claim: claim, Agent: "w1", Attempt: 1, Holder: "h-w1"}, commit, "main"))
		w.done(claim, "w1")
		w.try(claim, "r1", blackboard.ReadOnly)
		w.done(claim, "r1")
		for agent, want := range map[string]string{"w1": commit, "r1": ""} {
			if g, _ := w.snapshot(claim).Grant(agent); g.Base != want || g.State != blackboard.GrantDone {
				t.Errorf("%s: %+v", agent, g)
			}
		}
	})
}
