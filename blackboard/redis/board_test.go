package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func open(t testing.TB, url string) *Board {
	t.Helper()
	return openOptions(t, store.Options{URL: url, Instance: "test", Name: "test"})
}

func openOptions(t testing.TB, o store.Options) *Board {
	t.Helper()
	b, err := Open(testContext(t), o)
	must(t, err)
	t.Cleanup(b.Close)
	return b
}

func newID() string { return blackboard.NewID(time.Now(), rand.Reader) }

func goal(payload string) blackboard.Artefact {
	id := newID()
	return blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: payload, ProducedByRole: blackboard.RoleUser, WorkflowID: id}
}

// result is what an agent makes of a claim.
func result(c blackboard.Claim, agent string, st blackboard.StructuralType, typ, payload string) blackboard.Artefact {
	return blackboard.Artefact{ID: newID(), StructuralType: st, Type: typ, Payload: payload, SourceArtefacts: []string{c.ArtefactID},
		ProducedByRole: "role", ProducedByAgent: agent, ClaimID: c.ID, WorkflowID: c.WorkflowID}
}

// failure is what the orchestrator writes about a workflow.
func failure(workflow, typ string) blackboard.Artefact {
	return blackboard.Artefact{ID: newID(), StructuralType: blackboard.Failure, Type: typ, Payload: `{"reason":"x"}`,
		ProducedByRole: blackboard.RoleOrchestrator, WorkflowID: workflow}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: got %v, want %v", what, err, want)
	}
}

func wantList(t testing.TB, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// until waits for a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(5 * time.Minute)
	for !ok() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

func kinds(es []blackboard.Event) []string {
	out := make([]string, len(es))
	for i, e := range es {
		out[i] = string(e.Kind)
	}
	return out
}

// A goal goes through all moves of the simplest life: open, bid, grant, start,
// finish, complete; each is made twice.
func TestLifeOfAClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		g := goal("do it")
		claim := blackboard.BiddingClaimID(g.ID)
		w.twice("goal", func() error { return w.b.People.PostGoal(w.ctx, g, "ann") })
		w.twice("open", func() error { w.open(g.ID, "a", "b"); return nil })
		w.twice("bids", func() error {
			each, err := w.b.Cub.SubmitBids(w.ctx, []blackboard.BidRequest{{Claim: claim, Agent: "a", Bid: blackboard.BidExclusive, Reason: "", Relies: nil}, {Claim: claim, Agent: "b", Bid: blackboard.BidIgnore, Reason: "no", Relies: nil}})
			return errors.Join(append(each, err)...)
		})
		snap := w.snapshot(claim)
		if len(snap.Bids) != 2 || snap.Bids[0].Agent != "a" || snap.Claim.Target.Type != blackboard.TypeGoalDefined {
			t.Fatalf("snapshot %+v", snap)
		}
		guard := w.guard(claim)
		must(t, w.b.Leader.GrantPhase(w.ctx, guard, blackboard.PhaseExclusive, []string{"a"}))
		w.refuses("deciding twice", blackboard.ErrStale, func() error {
			return w.b.Leader.GrantPhase(w.ctx, guard, blackboard.PhaseExclusive, []string{"a"})
		})
		work, err := w.b.Index.OpenAgentWork(w.ctx, "a")
		must(t, err)
		wantList(t, "due", work.Due)
		wantList(t, "grants", work.Grants, claim)

		a := workOn(t, w, claim)
		done := w.guard(claim)
		must(t, w.b.Leader.CompleteClaim(w.ctx, done, ""))
		w.refuses("completing twice", blackboard.ErrStale, func() error { return w.b.Leader.CompleteClaim(w.ctx, done, "") })

		wf := w.workflow(g.ID)
		if wf.Outstanding != 1 || wf.Status != blackboard.WorkflowActive || wf.Artefacts != 2 || wf.Claims != 1 {
			t.Errorf("workflow %+v", wf)
		}
		wantList(t, "running", w.running())
		closed, err := w.b.Index.ClosedCount(w.ctx)
		must(t, err)
		if closed != 1 {
			t.Errorf("%d closed claims", closed)
		}
		wantList(t, "ledger", kinds(w.events()), "leader", "goal", "open", "bid", "bid", "grant", "start", "wait", "result", "complete")
		children, err := w.b.Index.Children(w.ctx, g.ID)
		must(t, err)
		wantList(t, "children", children, a.ID)
	})
}

// workOn lets the agent that was granted the claim do its work, and returns the result.
func workOn(t *testing.T, w *world, claim string) blackboard.Artefact {
	t.Helper()
	var st blackboard.Started
	w.twice("start", func() (err error) {
		st, err = w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "a", Holder: "h1"})
		return err
	})
	if st.Artefact.Payload != "do it" || st.Grant.State != blackboard.GrantRunning || st.Claim.Status != blackboard.PendingExclusive {
		t.Fatalf("started %+v", st)
	}
	a := result(st.Claim, "a", blackboard.Standard, "Code", "x")
	ref := blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: st.Grant.Attempt, Holder: "h1"}
	w.twice("await", func() error { return w.b.Cub.Await(w.ctx, ref, blackboard.WaitRepository, "") })
	w.twice("finish", func() error {
		return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: a, ToolTime: 1500 * time.Microsecond})
	})
	late := result(st.Claim, "a", blackboard.Standard, "Code", "late")
	w.refuses("a second result", blackboard.ErrRefused, func() error {
		return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: late})
	})
	if g := w.grantOf(claim, "a"); g.State != blackboard.GrantDone || g.ToolTime != 1500*time.Microsecond || g.ResultID != a.ID {
		t.Errorf("grant %+v", g)
	}
	return a
}

// FinishAndStart ends one grant and takes the next in one round trip; repeated,
// it does neither twice.
func TestFinishAndStart(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		first, second := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		c, ref := w.run(first, "a")
		done := blackboard.Result{GrantRef: ref, Artefact: result(c, "a", blackboard.Standard, "Code", "x")}
		next := blackboard.StartRequest{Claim: second, Agent: "a", Holder: "h-a"}
		w.twice("finish and start", func() error {
			st, finished, started := w.b.Cub.FinishAndStart(w.ctx, done, next)
			if st.Claim.ID != second {
				t.Errorf("started %+v", st)
			}
			return errors.Join(finished, started)
		})
		done.Artefact.ID = newID()
		_, finished, started := w.b.Cub.FinishAndStart(w.ctx, done, next)
		wantError(t, "a second result", finished, blackboard.ErrRefused)
		must(t, started)
		next.Claim = newID()
		_, _, started = w.b.Cub.FinishAndStart(w.ctx, done, next)
		wantError(t, "a grant nobody knows", started, blackboard.ErrRefused)
	})
}

// Nothing of one instance is seen or touched by another on the same server.
func TestInstancesAreApart(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		other := openOptions(t, store.Options{URL: s.url, Instance: "test2"})
		if other.Instance() != "test2" || "redis://"+other.Addr() != s.url {
			t.Errorf("instance %s at %s", other.Instance(), other.Addr())
		}
		work, err := other.Index.OpenWork(w.ctx)
		must(t, err)
		agent, err := other.Index.OpenAgentWork(w.ctx, "a")
		must(t, err)
		goals, err := other.Index.Goals(w.ctx, 0)
		must(t, err)
		if len(work.Claims)+len(work.Unclaimed)+len(agent.Due)+len(agent.Grants)+len(goals) != 0 {
			t.Errorf("sees %v %v %v", work, agent, goals)
		}
		_, err = other.Records.Snapshot(w.ctx, claim)
		wantError(t, "claim of another instance", err, blackboard.ErrNotFound)
		lead, _, err := other.Leader.TakeLead(w.ctx, "o2", "", time.Hour)
		must(t, err)
		w.refuses("deciding for another instance", blackboard.ErrStale, func() error {
			return other.Leader.CompleteClaim(w.ctx, blackboard.Guard{Epoch: lead.Epoch, Claim: claim, Revision: w.snapshot(claim).Claim.Revision, Bids: nil}, "")
		})
	})
}
