package redis

import (
	"strings"
	"testing"

	"sett/blackboard"
)

// word is what a person writes about an artefact or a claim.
func word(st blackboard.StructuralType, about, claim, workflow, payload, by string) blackboard.Artefact {
	return blackboard.Artefact{ID: newID(), StructuralType: st, Type: string(st), Payload: payload, SourceArtefacts: []string{about},
		ProducedByRole: blackboard.RoleHuman, ClaimID: claim, WorkflowID: workflow,
		Metadata: []byte(`{"by":"` + by + `","request":"` + newID() + `"}`)}
}

// gates wants artefacts of these types to wait for approval.
func (w *world) gates(types ...string) {
	w.Helper()
	w.twice("set approval", func() error { return w.b.Leader.Enact(w.ctx, w.epoch, types, "") })
}

func (w *world) openGates(want ...string) {
	w.Helper()
	got, err := w.b.Index.OpenGates(w.ctx)
	must(w.TB, err)
	wantList(w.TB.(*testing.T), "open gates", got, want...)
}

// What is held gets no claim and counts as work outstanding; once approved it is
// like any other. Nobody else can approve or reject it then.
func TestGateApproved(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.gates("Code*")
		claim := w.granted(blackboard.PhaseExclusive, "a")
		goalID := w.snapshot(claim).Claim.WorkflowID
		a := w.finish(claim, "a", blackboard.Standard, "CodeCommit", "x")
		if e := w.lastEvent(); e.Attributes["gate"] != "held" {
			t.Errorf("ledger %+v", e)
		}
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		w.openGates(a.ID)
		if wf := w.workflow(goalID); wf.Outstanding != 1 || wf.Gates != 1 || wf.Status != blackboard.WorkflowActive {
			t.Errorf("workflow %+v", wf)
		}
		if o, c, err := w.b.Leader.OpenClaim(w.ctx, w.epoch, a.ID, []string{"a"}, 0); o != blackboard.NotClaimable || c != nil || err != nil {
			t.Errorf("a claim on what is held: %v %v %v", o, c, err)
		}
		review := word(blackboard.Review, a.ID, "", goalID, "{}", "ann")
		w.twice("approve", func() error { return w.b.People.Approve(w.ctx, a.ID, review, "ann") })
		if e := w.lastEvent(); e.Kind != blackboard.EventApprove || e.Attributes["by"] != "ann" || e.Artefact != a.ID {
			t.Errorf("ledger %+v", e)
		}
		for _, again := range []func() error{
			func() error {
				return w.b.People.Approve(w.ctx, a.ID, word(blackboard.Review, a.ID, "", goalID, "{}", "bob"), "bob")
			},
			func() error {
				_, err := w.b.People.Reject(w.ctx, a.ID, word(blackboard.Review, a.ID, "", goalID, "no", "bob"), "bob")
				return err
			},
		} {
			w.refuses("a second word", blackboard.ErrRefused, func() error {
				err := again()
				if !strings.Contains(err.Error(), "approved by ann") {
					t.Errorf("it does not say who was first: %v", err)
				}
				return err
			})
		}
		w.openGates()
		w.open(a.ID, "a")
		if wf := w.workflow(goalID); wf.Outstanding != 1 || wf.Gates != 0 {
			t.Errorf("workflow after it %+v", wf)
		}
	})
}

// A Terminal that is held ends nothing; approved, it does.
func TestGateOfTerminal(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.gates("Release")
		claim := w.granted(blackboard.PhaseExclusive, "a")
		goalID := w.snapshot(claim).Claim.WorkflowID
		a := w.finish(claim, "a", blackboard.Terminal, "Release", "x")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		if wf := w.workflow(goalID); wf.Terminals != 0 || wf.TerminalID != "" || wf.Status != blackboard.WorkflowActive {
			t.Errorf("workflow %+v", wf)
		}
		must(t, w.b.People.Approve(w.ctx, a.ID, word(blackboard.Review, a.ID, "", goalID, "{}", "ann"), "ann"))
		if wf := w.workflow(goalID); wf.Terminals != 1 || wf.TerminalID != a.ID || wf.Status != blackboard.WorkflowAchieved || wf.Gates != 0 {
			t.Errorf("workflow after it %+v", wf)
		}
	})
}

// A rejection opens a claim in which the person's Review is the only one.
func TestGateRejected(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		for _, structural := range []blackboard.StructuralType{blackboard.Standard, blackboard.Terminal} {
			w := newWorld(t, s)
			w.gates("*")
			g := w.goalHeld()
			must(t, w.b.People.Approve(w.ctx, g, word(blackboard.Review, g, "", g, "{}", "ann"), "ann"))
			claim := w.open(g, "a")
			w.grant(claim, blackboard.PhaseExclusive, "a")
			a := w.finish(claim, "a", structural, "Code", "x")
			must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
			review := word(blackboard.Review, a.ID, "", g, "too long", "ann")
			var id string
			w.twice("reject", func() (err error) {
				id, err = w.b.People.Reject(w.ctx, a.ID, review, "ann")
				return err
			})
			snap := w.snapshot(id)
			if len(snap.Grants) != 1 || snap.Grants[0].Agent != "human:ann" || snap.Grants[0].Verdict != blackboard.Feedback ||
				snap.Grants[0].ResultID != blackboard.GateReviewID(a.ID) || snap.Claim.Target.Agent != "a" {
				t.Errorf("claim %+v", snap)
			}
			if wf := w.workflow(g); wf.Outstanding != 1 || wf.Gates != 0 {
				t.Errorf("workflow %+v", wf)
			}
			w.openGates()
		}
	})
}

// goalHeld posts a goal that is held, and returns its id.
func (w *world) goalHeld() string {
	w.Helper()
	g := goal("do it")
	must(w.TB, w.b.People.PostGoal(w.ctx, g, "ann"))
	w.openGates(g.ID)
	return g.ID
}

// A pattern is '*' for any characters and itself otherwise, in Lua as in Go.
func TestApprovalPatterns(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for pattern, tc := range map[string]struct{ yes, no string }{
			"a.b": {"a.b", "axb"}, "%d": {"%d", "7"}, "a*c*": {"abcd", "bac"}, "a*b*c": {"aXbYc", "acb"}, "ab*ba": {"abba", "aba"}, "a**": {"a", "b"}, "*b*": {"abc", "ac"},
			"*a*a*a*a*a*a*b": {strings.Repeat("a", 100) + "b", strings.Repeat("a", 128)}, "[x]": {"[x]", "x"}, "Ünï*": {"Ünïx", "x"}, "^$": {"^$", ""},
		} {
			w.gates(pattern)
			claim := w.granted(blackboard.PhaseParallel, "a", "b")
			yes := w.finish(claim, "a", blackboard.Standard, tc.yes, "")
			w.finish(claim, "b", blackboard.Standard, tc.no, "")
			w.openGates(yes.ID)
			must(t, w.b.People.Approve(w.ctx, yes.ID, word(blackboard.Review, yes.ID, "", yes.WorkflowID, "{}", "ann"), "ann"))
		}
		w.gates("*")
		w.goalHeld()
	})
}

// Only the leader sets the policy; it is in the ledger when it changes.
func TestEnact(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		n := len(w.events())
		must(t, w.b.Leader.Enact(w.ctx, w.epoch, nil, ""))
		if len(w.events()) != n {
			t.Error("no approval at all is a change")
		}
		approves := func(want bool, types ...string) {
			t.Helper()
			if is, err := w.b.Enacted(w.ctx, types, "", ""); is != want || err != nil {
				t.Errorf("approves %q: %v %v", types, is, err)
			}
		}
		approves(true)
		approves(false, "A")
		w.gates("A", "B*")
		approves(true, "A", "B*")
		approves(false)
		approves(false, "B*", "A")
		if e := w.lastEvent(); e.Kind != blackboard.EventPolicy || e.Attributes["approve"] != "A B*" {
			t.Errorf("ledger %+v", e)
		}
		w.refuses("a stale leader", blackboard.ErrStale, func() error { return w.b.Leader.Enact(w.ctx, "old", nil, "") })
	})
}

// A person reviews beside the agents, once, and only in review.
func TestPersonReviews(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		g := w.goal()
		claim := w.open(g.ID, "a", "r")
		review := word(blackboard.Review, g.ID, claim, g.ID, "too vague", "ann")
		w.twice("review", func() error { return w.b.People.Review(w.ctx, claim, review, "ann") })
		w.refuses("a second review", blackboard.ErrRefused, func() error {
			return w.b.People.Review(w.ctx, claim, word(blackboard.Review, g.ID, claim, g.ID, "{}", "ann"), "ann")
		})
		must(t, w.b.People.Review(w.ctx, claim, word(blackboard.Review, g.ID, claim, g.ID, " {} ", "bob"), "bob"))
		if g := w.grantOf(claim, "human:ann"); g.Verdict != blackboard.Feedback || g.State != blackboard.GrantDone || g.ResultID != review.ID {
			t.Errorf("grant %+v", g)
		}
		if g := w.grantOf(claim, "human:bob"); g.Verdict != blackboard.Approve {
			t.Errorf("grant %+v", g)
		}
		must(t, w.b.Leader.GrantPhase(w.ctx, w.guard(claim), blackboard.PhaseExclusive, []string{"a"}))
		w.refuses("a review after review", blackboard.ErrRefused, func() error {
			return w.b.People.Review(w.ctx, claim, word(blackboard.Review, g.ID, claim, g.ID, "{}", "eve"), "eve")
		})
		w.refuses("a review of nothing", blackboard.ErrRefused, func() error {
			return w.b.People.Review(w.ctx, newID(), word(blackboard.Review, g.ID, claim, g.ID, "{}", "eve"), "eve")
		})
	})
}
