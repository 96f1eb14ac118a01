package redis

import (
	"testing"
	"time"

	"sett/blackboard"
)

// conflictOf is a Conflict of two commits in the goal of a claim.
func conflictOf(c blackboard.Claim, commit string) blackboard.Artefact {
	return blackboard.Artefact{
		ID: blackboard.ConflictID(c.WorkflowID, "aa", commit), StructuralType: blackboard.Standard, Type: blackboard.TypeConflict, Payload: "{}", Commit: commit,
		SourceArtefacts: []string{c.ArtefactID}, ProducedByRole: blackboard.RoleRepository, WorkflowID: c.WorkflowID, Summary: "conflict in f",
	}
}

// weighed checks that the counts are those that Go makes of the claim, and that a count anew
// changes nothing.
func (w *world) weighed(claim string, suspended, blocked int) {
	w.Helper()
	s := w.snapshot(claim)
	wf := w.workflow(s.Claim.WorkflowID)
	if wf.Suspended != suspended || wf.Blocked != blocked || s.Suspended() != (suspended > 0) || s.Blocked() != (blocked > 0) {
		w.Errorf("suspended %d, blocked %d; Go says %v %v; want %d, %d", wf.Suspended, wf.Blocked, s.Suspended(), s.Blocked(), suspended, blocked)
	}
	w.countsHold(s.Claim.WorkflowID)
}

// A grant whose commits conflict waits, is started by nobody, and goes on with the artefact
// that takes the place of both sides. Others that meet the same conflict store nothing twice.
func TestClash(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		c, a := w.run(claim, "a")
		_, b := w.run(claim, "b")
		k := conflictOf(c, "bb")
		w.weighed(claim, 0, 0)
		w.refuses("another holder's", blackboard.ErrRefused, func() error {
			return w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: 1, Holder: "x"}, Conflict: k})
		})
		w.twice("clash", func() error { return w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: a, Conflict: k}) })
		if e := w.lastEvent(); e.Kind != blackboard.EventConflict || e.To != "waits" || e.Attributes[blackboard.AttributeResult] != k.ID || e.OnlyPeople() {
			t.Errorf("ledger %+v", e)
		}
		if wf := w.workflow(c.WorkflowID); wf.Outstanding != 2 {
			t.Errorf("outstanding %d, want the claim and the conflict", wf.Outstanding)
		}
		if g := w.grantOf(claim, "a"); !g.Waiting() || g.Attempt != 2 || g.Conflict != k.ID || g.Holder != "" {
			t.Errorf("grant %+v", g)
		}
		w.weighed(claim, 0, 0) // b runs
		w.twice("clash of another", func() error { return w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: b, Conflict: k}) })
		if e := w.lastEvent(); e.Attributes[blackboard.AttributeResult] != "" {
			t.Errorf("stored again: %+v", e)
		}
		w.weighed(claim, 0, 1)
		w.refuses("the start of one that waits", blackboard.ErrRefused, func() error {
			_, err := w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "a", Holder: "h"})
			return err
		})
		work, err := w.b.Index.OpenAgentWork(w.ctx, "a")
		must(t, err)
		wantList(t, "grants", work.Grants)
		wait := blackboard.Waits(w.snapshot(claim), blackboard.Policy{}, blackboard.Scene{})
		if len(wait) != 2 || wait[0].Kind != blackboard.WaitConflict || wait[0].SubjectID != k.ID {
			t.Errorf("waits %+v", wait)
		}

		// Only people are waited for where the agent that settles it asks.
		settles := w.open(k.ID, "m")
		w.grant(settles, blackboard.PhaseExclusive, "m")
		w.finish(settles, "m", blackboard.Question, "Ask", "?")
		if wf := w.workflow(c.WorkflowID); !wf.OnlyPeople() || !w.lastEvent().OnlyPeople() {
			t.Errorf("people are waited for: %+v", wf)
		}

		go1 := blackboard.Unclash{Epoch: w.epoch, Claim: claim, Agent: "a", Conflict: k.ID, Settled: "S"}
		w.refuses("an old leader", blackboard.ErrStale, func() error {
			old := go1
			old.Epoch = "old"
			return w.b.Leader.Unclash(w.ctx, old)
		})
		w.twice("unclash", func() error { return w.b.Leader.Unclash(w.ctx, go1) })
		w.weighed(settles, 1, 0)
		if g := w.grantOf(claim, "a"); g.Waiting() || len(g.Settled) != 1 || g.Settled[0] != "S" {
			t.Errorf("grant %+v", g)
		}
		if _, ref := w.start(claim, "a", "h"); ref.Attempt != 2 {
			t.Errorf("attempt %d", ref.Attempt)
		}
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: 2, Holder: "h"}, Artefact: result(c, "a", blackboard.Standard, "X", "")}))
		if s := w.snapshot(claim); !s.Blocked() {
			t.Errorf("b still waits alone: %+v", s.Grants)
		}
		f := failure(c.WorkflowID, blackboard.TypeUnsettledConflict)
		f.ClaimID = claim
		w.twice("fail", func() error {
			return w.b.Leader.FailGrant(w.ctx, w.epoch, blackboard.GrantRef{Claim: claim, Agent: "b", Attempt: 2}, "not settled", f)
		})
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "b failed", nil, nil))
		w.weighed(settles, 1, 0)
		retried := blackboard.ReworkClaimID("retry")
		must(t, w.b.People.Retry(w.ctx, claim, retried, "ann", ""))
		if g := w.grantOf(retried, "b"); g.State != blackboard.GrantQueued || g.Waiting() {
			t.Errorf("tried again: %+v", g)
		}
	})
}

// The end of a claim that waits, and of its goal, is the end of the wait; a new leader counts anew.
func TestClashEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		c, ref := w.run(claim, "a")
		k := conflictOf(c, "bb")
		must(t, w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: ref, Conflict: k}))
		w.weighed(claim, 0, 1)
		w.raw("HDEL", w.b.c.Keys.Workflow(c.WorkflowID), "blocked")
		w.raw("DEL", w.b.c.Keys.SuspendedClaims())
		must(t, w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}, 0))
		lead, _, err := w.b.Leader.TakeLead(w.ctx, "orchestrator", "", 1<<40)
		must(t, err)
		w.epoch = lead.Epoch
		w.weighed(claim, 0, 1)
		f := failure(c.WorkflowID, blackboard.TypeCancelled)
		must(t, w.b.People.CancelClaim(w.ctx, claim, f, "ann", "stop"))
		if wf := w.workflow(c.WorkflowID); wf.Blocked != 0 || wf.Outstanding != 1 {
			t.Errorf("cancelled: %+v", wf)
		}
		must(t, w.b.Leader.Unclash(w.ctx, blackboard.Unclash{Epoch: w.epoch, Claim: claim, Agent: "a", Conflict: k.ID, Settled: "S"}))
		if g := w.grantOf(claim, "a"); g.State != blackboard.GrantCancelled {
			t.Errorf("a cancelled grant goes on: %+v", g)
		}
	})
}

// An export of work that waits for a conflict goes on where it is imported.
func TestClashIsExported(t *testing.T) {
	w := newWorld(t, startEmbedded(t))
	claim := w.granted(blackboard.PhaseExclusive, "a")
	c, ref := w.run(claim, "a")
	k := conflictOf(c, "bb")
	must(t, w.b.Cub.Clash(w.ctx, blackboard.Clash{GrantRef: ref, Conflict: k}))
	to := fresh(t, startEmbedded(t))
	if _, err := to.imports(w.export("")); err != nil {
		t.Fatal(err)
	}
	lead, _, err := to.b.Leader.TakeLead(to.ctx, "orchestrator", "", time.Hour)
	must(t, err)
	to.epoch = lead.Epoch
	to.weighed(claim, 0, 1)
	must(t, to.b.Leader.Unclash(to.ctx, blackboard.Unclash{Epoch: to.epoch, Claim: claim, Agent: "a", Conflict: k.ID, Settled: c.ArtefactID}))
	to.weighed(claim, 0, 0)
	if st, _ := to.start(claim, "a", "h"); len(st.Grant.Settled) != 1 {
		t.Errorf("it goes on with %+v", st.Grant)
	}
}

// The later side of a conflict is sent back once, when no claim on its thread is open.
func TestReworkConflict(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for _, asks := range []bool{false, true} {
			w := newWorld(t, s)
			first := w.granted(blackboard.PhaseParallel, "a")
			x := w.finish(first, "a", blackboard.Standard, "X", "")
			k := conflictOf(w.snapshot(first).Claim, "bb")
			q := blackboard.ConflictRework{Epoch: w.epoch, Artefact: x.ID,
				Review: blackboard.Artefact{ID: blackboard.ConflictReviewID(k.ID, ""), StructuralType: blackboard.Review, Type: blackboard.TypeConflictReview,
					Payload: "no", SourceArtefacts: []string{x.ID}, ProducedByRole: blackboard.RoleRepository, WorkflowID: x.WorkflowID},
				Rework: blackboard.Rework{ClaimID: blackboard.ConflictReworkID(k.ID, ""), Agent: "a", Context: []string{blackboard.ConflictReviewID(k.ID, "")}}}
			if asks {
				q.Question = &blackboard.Artefact{ID: newID(), StructuralType: blackboard.Question, Type: "Question", Payload: "?", ClaimID: q.ClaimID,
					SourceArtefacts: []string{x.ID}, ProducedByRole: blackboard.RoleOrchestrator, WorkflowID: x.WorkflowID}
			}
			w.refuses("an artefact without its claim", blackboard.ErrRefused, func() error { return w.b.Leader.ReworkConflict(w.ctx, q) })
			own := w.open(x.ID, "a")
			w.refuses("an open claim", blackboard.ErrRefused, func() error { return w.b.Leader.ReworkConflict(w.ctx, q) })
			must(t, w.bid(own, "a", blackboard.BidIgnore))
			must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(own), ""))
			w.twice("rework", func() error { return w.b.Leader.ReworkConflict(w.ctx, q) })
			e := w.lastEvent()
			if e.Kind != blackboard.EventConflict || e.To != "reworked" || e.Claim != q.ClaimID || (e.Asked() != "") != asks {
				t.Errorf("ledger %+v", e)
			}
			if g := w.grantOf(q.ClaimID, "a"); g.Phase != blackboard.PhaseExclusive || (g.State == blackboard.GrantAwaitingAnswer) != asks {
				t.Errorf("grant %+v", g)
			}
			w.countsHold(x.WorkflowID)
			if asks {
				continue
			}
			newer := result(w.snapshot(q.ClaimID).Claim, "a", blackboard.Standard, "X", "")
			newer.LogicalID = x.ID
			_, ref := w.run(q.ClaimID, "a")
			must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: newer}))
			must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(q.ClaimID), ""))
			other := q
			other.ClaimID, other.Review.ID = newID(), newID()
			w.refuses("an old version", blackboard.ErrRefused, func() error { return w.b.Leader.ReworkConflict(w.ctx, other) })
		}
	})
}
