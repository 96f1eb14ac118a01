package redis

import (
	"slices"
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
			return !g.WaitsSince.IsZero() || g.WaitsFor != "" || g.WaitsWhy != ""
		}
		begin := func(agent string) blackboard.GrantRef {
			_, ref := w.run(claim, agent)
			w.twice("wait of "+agent, func() error { return w.b.Cub.Await(w.ctx, ref, blackboard.WaitRepository, "") })
			if e := w.lastEvent(); e.Kind != blackboard.EventWait || e.Reason != "repository" || e.To != "" || e.Agent != agent || e.Claim != claim || e.Workflow == "" {
				t.Errorf("ledger: %+v", e)
			}
			if !waits(agent) || !slices.Contains(w.running(), agent+" h-"+agent+" 1 waits") {
				t.Errorf("%s does not wait", agent)
			}
			must(t, w.b.Cub.Await(w.ctx, ref, blackboard.WaitBlackboard, "full"))
			return ref
		}
		a := begin("a")
		w.twice("the end of the wait", func() error { return w.b.Cub.Await(w.ctx, a, "", "") })
		if e := w.lastEvent(); e.Kind != blackboard.EventWait || e.To != "over" || waits("a") {
			t.Errorf("ledger: %+v", e)
		}

		grant := func() blackboard.Grant {
			g, err := w.b.Records.Grant(w.ctx, claim, "a")
			must(t, err)
			return g
		}
		w.twice("a wait with a reason", func() error { return w.b.Cub.Await(w.ctx, a, blackboard.WaitRepository, "no room") })
		since := grant().WaitsSince
		entry := w.lastEvent()
		w.twice("a new reason", func() error { return w.b.Cub.Await(w.ctx, a, blackboard.WaitRepository, "no answer") })
		if g := grant(); !g.WaitsSince.Equal(since) || since.IsZero() || g.WaitsFor != "" || g.WaitsWhy != "no answer" || w.lastEvent().ID != entry.ID {
			t.Errorf("%+v, ledger: %+v", g, w.lastEvent())
		}
		w.twice("another wait", func() error { return w.b.Cub.Await(w.ctx, a, blackboard.WaitBlackboard, "full") })
		if g, e := grant(), w.lastEvent(); g.WaitsFor != "blackboard" || g.WaitsWhy != "full" || e.Reason != "blackboard" || e.To != "" {
			t.Errorf("%+v, ledger: %+v", g, e)
		}
		w.twice("its end", func() error { return w.b.Cub.Await(w.ctx, a, "", "") })
		if g, e := grant(), w.lastEvent(); !g.WaitsSince.IsZero() || g.WaitsFor != "" || g.WaitsWhy != "" || e.Reason != "blackboard" || e.To != "over" {
			t.Errorf("%+v, ledger: %+v", g, e)
		}

		b := begin("b")
		must(t, w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: b, Most: 10, Reason: "stopped"}))
		w.refuses("an old attempt's wait", blackboard.ErrRefused, func() error { return w.b.Cub.Await(w.ctx, b, blackboard.WaitRepository, "") })
		done := begin("c")
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: done, Artefact: result(w.snapshot(claim).Claim, "c", blackboard.Standard, "X", "")}))
		begin("d")
		other := blackboard.GrantRef{Claim: claim, Agent: "d", Attempt: 1, Holder: "other"}
		w.refuses("another holder's wait", blackboard.ErrRefused, func() error { return w.b.Cub.Await(w.ctx, other, "", "") })
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "cancelled", nil, nil))
		for _, agent := range []string{"b", "c", "d"} {
			if waits(agent) {
				t.Errorf("%s waits on", agent)
			}
		}
		wantList(t, "who works", w.running())
	})
}
