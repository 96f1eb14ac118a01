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
			return !g.WaitsSince.IsZero()
		}
		begin := func(agent string) blackboard.GrantRef {
			_, ref := w.run(claim, agent)
			w.twice("wait of "+agent, func() error { return w.b.Cub.Await(w.ctx, ref, true) })
			if e := w.lastEvent(); e.Kind != blackboard.EventWait || e.Reason != "repository" || e.To != "" || e.Agent != agent || e.Claim != claim || e.Workflow == "" {
				t.Errorf("ledger: %+v", e)
			}
			if !waits(agent) || !slices.Contains(w.running(), agent+" h-"+agent+" 1 waits") {
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
		must(t, w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: b, Most: 10, Reason: "stopped"}))
		w.refuses("an old attempt's wait", blackboard.ErrRefused, func() error { return w.b.Cub.Await(w.ctx, b, true) })
		done := begin("c")
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: done, Artefact: result(w.snapshot(claim).Claim, "c", blackboard.Standard, "X", "")}))
		begin("d")
		other := blackboard.GrantRef{Claim: claim, Agent: "d", Attempt: 1, Holder: "other"}
		w.refuses("another holder's wait", blackboard.ErrRefused, func() error { return w.b.Cub.Await(w.ctx, other, false) })
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "cancelled", nil, nil))
		for _, agent := range []string{"b", "c", "d"} {
			if waits(agent) {
				t.Errorf("%s waits on", agent)
			}
		}
		wantList(t, "who works", w.running())
	})
}
