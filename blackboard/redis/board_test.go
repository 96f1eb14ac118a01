package redis

import (
	"context"
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

func testContext(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func open(t testing.TB, url string) *Board {
	t.Helper()
	b, err := Open(testContext(t), Options{URL: url, Instance: "test", Name: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func newID() string { return blackboard.NewID(time.Now(), rand.Reader) }

func goal(payload string) blackboard.Artefact {
	id := newID()
	return blackboard.Artefact{ID: id, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: payload, ProducedByRole: blackboard.RoleUser, WorkflowID: id}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func result(c blackboard.Claim, agent string, st blackboard.StructuralType, typ, payload string) blackboard.Artefact {
	return blackboard.Artefact{ID: newID(), StructuralType: st, Type: typ, Payload: payload, SourceArtefacts: []string{c.ArtefactID},
		ProducedByRole: "role", ProducedByAgent: agent, ClaimID: c.ID, WorkflowID: c.WorkflowID}
}

// A goal goes through all moves of the simplest life: open, bid, grant, start,
// finish, complete; each twice.
func TestLifeOfAClaim(t *testing.T) {
	s := redistest.Start(t)
	b := open(t, s.URL)
	ctx := testContext(t)
	g := goal("do it")
	lead, _, err := b.TakeLead(ctx, "o1", "", time.Minute)
	must(t, err)
	var c blackboard.Snapshot
	claim := blackboard.BiddingClaimID(g.ID)
	for range 2 {
		must(t, b.PostGoal(ctx, g))
		o, err := b.OpenClaim(ctx, lead.Epoch, g.ID, []string{"a", "b"}, 100)
		must(t, err)
		if o != Opened {
			t.Fatalf("open: %s", o)
		}
		each, err := b.SubmitBids(ctx, []BidRequest{{claim, "a", blackboard.BidExclusive, ""}, {claim, "b", blackboard.BidIgnore, ""}})
		must(t, err)
		must(t, errors.Join(each...))
	}
	c, err = b.Snapshot(ctx, claim)
	must(t, err)
	if len(c.Bids) != 2 || c.Bids[0].Agent != "a" || c.Claim.Target.Type != blackboard.TypeGoalDefined {
		t.Fatalf("snapshot %+v", c)
	}
	guard := Guard{lead.Epoch, claim, c.Claim.Revision}
	must(t, b.GrantPhase(ctx, guard, blackboard.PhaseExclusive, []string{"a"}))
	if err := b.GrantPhase(ctx, guard, blackboard.PhaseExclusive, []string{"b"}); !errors.Is(err, blackboard.ErrStale) {
		t.Fatalf("deciding twice: %v", err)
	}
	w, err := b.OpenAgentWork(ctx, "a")
	must(t, err)
	if len(w.Due) != 0 || len(w.Grants) != 1 {
		t.Fatalf("work %+v", w)
	}
	var st Started
	for range 2 {
		st, err = b.Start(ctx, StartRequest{claim, "a", "h1", blackboard.ReadOnly})
		must(t, err)
	}
	if st.Artefact.Payload != "do it" || st.Grant.State != blackboard.GrantRunning {
		t.Fatalf("started %+v", st)
	}
	a := result(st.Claim, "a", blackboard.Standard, "Code", "x")
	ref := GrantRef{claim, "a", st.Grant.Attempt, "h1"}
	for range 2 {
		must(t, b.Finish(ctx, Result{GrantRef: ref, Artefact: a, ToolTime: 1500 * time.Microsecond}))
	}
	a.ID = newID()
	if err := b.Finish(ctx, Result{GrantRef: ref, Artefact: a}); !errors.Is(err, blackboard.ErrRefused) {
		t.Fatalf("second result: %v", err)
	}
	c, err = b.Snapshot(ctx, claim)
	must(t, err)
	if g, _ := c.Grant("a"); g.State != blackboard.GrantDone || g.ToolTime != 1500*time.Microsecond {
		t.Fatalf("grant %+v", g)
	}
	must(t, b.CompleteClaim(ctx, Guard{lead.Epoch, claim, c.Claim.Revision}, ""))
	wf, err := b.Workflow(ctx, g.ID)
	must(t, err)
	if wf.Outstanding != 1 || wf.Status != blackboard.WorkflowActive || wf.Artefacts != 2 {
		t.Fatalf("workflow %+v", wf)
	}
	use, err := b.Workspace(ctx)
	must(t, err)
	if len(use) != 0 {
		t.Fatalf("workspace still used: %v", use)
	}
	list, err := b.ListArtefacts(ctx, Filter{Limit: 10})
	must(t, err)
	if len(list) != 2 || list[0].ID != g.ID {
		t.Fatalf("list %v", list)
	}
	id, kind, err := b.Resolve(ctx, blackboard.ShortID(claim), KindClaim, KindArtefact)
	must(t, err)
	if id != claim || kind != KindClaim {
		t.Fatalf("resolve %s %s", id, kind)
	}
	es, err := b.History(ctx, Beginning, 100)
	must(t, err)
	var kinds []string
	for _, e := range es {
		kinds = append(kinds, string(e.Kind))
	}
	t.Log(kinds)
}
