package redis

import (
	"testing"

	"sett/blackboard"
)

// A running grant's wait for the repository is on the board and in the ledger, begun and
// ended once. It ends with the attempt, and is its holder's alone to tell.
func TestAwait(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b", "c", "d")
		waits := func(agent string) bool {
			g, err := w.b.Records.Grant(w.ctx, claim, agent)
			must(t, err)
			return !g.WaitsSince.IsZero()
		}
		begin := func(agent string) blackboard.GrantRef {
			_, ref := w.start(claim, agent, "h-"+agent, blackboard.NoWorkspace)
			w.twice("wait of "+agent, func() error { return w.b.Cub.Await(w.ctx, ref, true) })
			if e := w.lastEvent(); e.Kind != blackboard.EventWait || e.Reason != "repository" || e.To != "" || e.Agent != agent || e.Claim != claim || e.Workflow == "" {
				t.Errorf("ledger: %+v", e)
			}
			if !waits(agent) {
				t.Errorf("%s does not wait", agent)
			}
			return ref
		}
		a := begin("a")
		w.twice("the end of the wait", func() error { return w.b.Cub.Await(w.ctx, a, false) })
		if e := w.lastEvent(); e.Kind != blackboard.EventWait || e.To != "over" || waits("a") {
			t.Errorf("ledger: %+v", e)
		}

		b := begin("b")
		must(t, w.b.Cub.Requeue(w.ctx, b, 10, "stopped"))
		w.refuses("an old attempt's wait", blackboard.ErrRefused, func() error { return w.b.Cub.Await(w.ctx, b, true) })
		begin("c")
		w.done(claim, "c")
		begin("d")
		other := blackboard.GrantRef{Claim: claim, Agent: "d", Attempt: 1, Holder: "other"}
		w.refuses("another holder's wait", blackboard.ErrRefused, func() error { return w.b.Cub.Await(w.ctx, other, false) })
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "cancelled", nil, nil))
		for _, agent := range []string{"b", "c", "d"} {
			if waits(agent) {
				t.Errorf("%s waits on", agent)
			}
		}
		wantList(t, "who works", w.uses())
	})
}

// A grant without a part in the workspace begins whatever the others do.
func TestWithoutWorkspace(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "writer", "waits", "none")
		wantList(t, "writer", w.try(claim, "writer", blackboard.ReadWrite))
		wantList(t, "waits", w.try(claim, "waits", blackboard.ReadWrite), "writer")
		wantList(t, "none", w.try(claim, "none", blackboard.NoWorkspace))
		w.done(claim, "writer")
		wantList(t, "waits at last", w.try(claim, "waits", blackboard.ReadWrite))
	})
}
