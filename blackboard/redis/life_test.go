package redis

import (
	"fmt"
	"slices"
	"testing"

	"sett/blackboard"
)

// Feedback opens a rework claim on the same artefact; its result is the thread's
// next version.
func TestRework(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		first := w.granted(blackboard.PhaseExclusive, "writer")
		goalID := w.snapshot(first).Claim.ArtefactID
		v1 := w.finish(first, "writer", blackboard.Standard, "Code", "v1")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(first), ""))

		claim := w.open(v1.ID, "r", "writer")
		w.grant(claim, blackboard.PhaseReview, "r")
		review := w.finish(claim, "r", blackboard.Review, "Review", "too long")
		if g := w.grantOf(claim, "r"); g.Verdict != blackboard.Feedback {
			t.Errorf("verdict %q", g.Verdict)
		}
		guard := w.guard(claim)
		rework := blackboard.Rework{ClaimID: blackboard.ReworkClaimID(claim), Agent: "writer", Context: []string{review.ID}}
		must(t, w.b.Leader.TerminateClaim(w.ctx, guard, "feedback", nil, &rework))
		w.refuses("terminating twice", blackboard.ErrStale, func() error {
			return w.b.Leader.TerminateClaim(w.ctx, guard, "feedback", nil, &rework)
		})
		if wf := w.workflow(goalID); wf.Outstanding != 1 || wf.Status != blackboard.WorkflowActive || wf.Claims != 3 {
			t.Errorf("workflow %+v", wf)
		}
		c := w.snapshot(rework.ClaimID).Claim
		if c.Status != blackboard.PendingExclusive || c.Origin != blackboard.OriginRework || c.ArtefactID != v1.ID ||
			c.GrantedExclusiveAgent != "writer" || c.Target.Version != 1 || c.Target.Agent != "writer" {
			t.Errorf("rework claim %+v", c)
		}
		wantList(t, "context", c.AdditionalContextIDs, review.ID)
		wantError(t, "a bid on a rework", w.bid(rework.ClaimID, "r", blackboard.BidReview), blackboard.ErrRefused)

		rc, ref := w.run(rework.ClaimID, "writer")
		v2 := result(rc, "writer", blackboard.Standard, "Code", "v2")
		v2.LogicalID, v2.SourceArtefacts = v1.ID, []string{v1.ID, review.ID}
		w.twice("the rework's result", func() error { return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: v2}) })
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(rework.ClaimID), ""))
		got, err := w.b.Records.Artefact(w.ctx, v2.ID)
		must(t, err)
		if got.Version != 2 || got.LogicalID != v1.ID {
			t.Errorf("the new version: %+v", got)
		}
		wantList(t, "sources", got.SourceArtefacts, v1.ID, review.ID)
		latest, err := w.b.Records.LatestVersions(w.ctx, []string{v1.ID, goalID, newID()})
		must(t, err)
		if len(latest) != 2 || latest[v1.ID] != v2.ID || latest[goalID] != goalID {
			t.Errorf("latest versions %v", latest)
		}
		claims, err := w.b.Index.WorkflowClaims(w.ctx, goalID)
		must(t, err)
		wantList(t, "claims", claims, first, claim, rework.ClaimID)
	})
}

// A workflow is achieved, failed or stalled when its last work ends, and not
// before.
func TestEndsOfAWorkflow(t *testing.T) {
	for name, tc := range map[string]struct {
		structural blackboard.StructuralType
		status     blackboard.WorkflowStatus
	}{
		"achieved": {blackboard.Terminal, blackboard.WorkflowAchieved},
		"failed":   {blackboard.Failure, blackboard.WorkflowFailed},
		"stalled":  {"", blackboard.WorkflowStalled},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *server) {
				w := newWorld(t, s)
				claim := w.granted(blackboard.PhaseExclusive, "a")
				goalID := w.snapshot(claim).Claim.WorkflowID
				var last blackboard.Artefact
				if tc.structural != "" {
					last = w.finish(claim, "a", tc.structural, "End", "")
				}
				if wf := w.workflow(goalID); wf.Status != blackboard.WorkflowActive || wf.Outstanding != 1 || !wf.EndedAt.IsZero() {
					t.Errorf("before the end: %+v", wf)
				}
				active, err := w.b.Index.ActiveWorkflows(w.ctx)
				must(t, err)
				wantList(t, "active", active, goalID)
				must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), "over"))
				wf := w.workflow(goalID)
				if wf.Status != tc.status || wf.Outstanding != 0 || wf.EndedAt.IsZero() || wf.TerminalID+wf.FailureID != last.ID {
					t.Errorf("at the end: %+v", wf)
				}
				active, err = w.b.Index.ActiveWorkflows(w.ctx)
				must(t, err)
				wantList(t, "active at the end", active)
				e := w.lastEvent()
				if e.Attributes["workflow_status"] != string(tc.status) || e.Reason != "over" || e.From != "pending_exclusive" {
					t.Errorf("ledger %+v", e)
				}
			})
		})
	}
}

// Every artefact of a parallel phase is work outstanding until its own claim ends.
func TestParallel(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		goalID := w.snapshot(claim).Claim.WorkflowID
		x := w.finish(claim, "a", blackboard.Standard, "X", "1")
		y := w.finish(claim, "b", blackboard.Standard, "Y", "2")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		for i, a := range []blackboard.Artefact{x, y} {
			if wf := w.workflow(goalID); wf.Outstanding != 2-i || wf.Status != blackboard.WorkflowActive {
				t.Errorf("%d: %+v", i, wf)
			}
			c := w.open(a.ID, "z")
			must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(c), "nobody wants it"))
		}
		if wf := w.workflow(goalID); wf.Status != blackboard.WorkflowStalled || wf.Artefacts != 3 || wf.Claims != 3 {
			t.Errorf("at the end: %+v", wf)
		}
	})
}

// A Failure ends the claim; its siblings are cancelled, whatever they were doing,
// and what they hand in afterwards is refused.
func TestSiblingsAreCancelled(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "asks", "fails", "queued", "runs")
		goalID := w.snapshot(claim).Claim.WorkflowID
		c, running := w.run(claim, "runs")
		question := w.finish(claim, "asks", blackboard.Question, "Question", "why?")
		w.finish(claim, "fails", blackboard.Failure, blackboard.TypeToolExecutionFailure, "{}")
		if g := w.grantOf(claim, "fails"); g.State != blackboard.GrantFailed {
			t.Errorf("the grant that failed: %+v", g)
		}
		if wf := w.workflow(goalID); wf.Questions != 1 {
			t.Errorf("workflow %+v", wf)
		}
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "fails failed", nil, nil))
		for agent, want := range map[string]blackboard.GrantState{
			"asks": blackboard.GrantCancelled, "queued": blackboard.GrantCancelled, "runs": blackboard.GrantCancelled,
			"fails": blackboard.GrantFailed,
		} {
			if g := w.grantOf(claim, agent); g.State != want || g.EndedAt.IsZero() {
				t.Errorf("%s: %+v", agent, g)
			}
			work, err := w.b.Index.OpenAgentWork(w.ctx, agent)
			must(t, err)
			wantList(t, agent+"'s queue", work.Grants)
		}
		e := w.lastEvent()
		if e.Kind != blackboard.EventTerminate || e.Attributes["cancelled"] != "asks,queued,runs" {
			t.Errorf("ledger %+v", e)
		}
		late := result(c, "runs", blackboard.Standard, "Code", "late")
		w.refuses("a late result", blackboard.ErrRefused, func() error {
			return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: running, Artefact: late})
		})
		w.refuses("a start after the end", blackboard.ErrRefused, func() error {
			_, err := w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "queued", Holder: "h"})
			return err
		})
		questions, err := w.b.Index.OpenQuestions(w.ctx)
		must(t, err)
		wantList(t, "open questions", questions)
		answer := answerTo(question)
		w.refuses("an answer after the end", blackboard.ErrRefused, func() error {
			_, err := w.b.People.PostAnswer(w.ctx, question.ID, answer, "ann")
			return err
		})
		if wf := w.workflow(goalID); wf.Questions != 0 || wf.Failures != 1 || wf.Status != blackboard.WorkflowFailed {
			t.Errorf("workflow at the end %+v", wf)
		}
	})
}

// The Failure that says why a claim was terminated is written with its end.
func TestTerminateWithFailure(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseReview, "r")
		goalID := w.snapshot(claim).Claim.WorkflowID
		w.finish(claim, "r", blackboard.Review, "Review", "no")
		f := failure(goalID, blackboard.TypeReviewLimit)
		must(t, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "nobody can rework a goal", &f, nil))
		got, err := w.b.Records.Artefact(w.ctx, f.ID)
		must(t, err)
		if got.Payload != f.Payload || got.StructuralType != blackboard.Failure || got.ProducedByRole != blackboard.RoleOrchestrator {
			t.Errorf("failure %+v", got)
		}
		c := w.snapshot(claim).Claim
		if c.Status != blackboard.Terminated || c.Reason != "nobody can rework a goal" || c.ClosedAt.Before(c.OpenedAt) {
			t.Errorf("claim %+v", c)
		}
		if wf := w.workflow(goalID); wf.Status != blackboard.WorkflowFailed || wf.FailureID != f.ID {
			t.Errorf("workflow %+v", wf)
		}
		e := w.lastEvent()
		if e.Attributes["result"] != f.ID || e.Attributes["size"] != "14" || len(e.Attributes["sha256"]) != 64 {
			t.Errorf("ledger %+v", e)
		}
	})
}

// The ledger has the person and the names of the settings for each start, and for each change of an instance that runs. A gate has
// the person that wants it.
func TestSettingsAreRecorded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		up := func(by, digest, sett string, approve []string, changed ...string) error {
			return w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: by, With: "sett up",
				Settings: &blackboard.Settings{Digest: digest, Changed: changed, Sett: sett, Commit: "c0ffee", Approve: approve, Branch: "main"}})
		}
		last := func(want string) {
			t.Helper()
			e := w.lastEvent()
			if got := fmt.Sprintf("%s %s>%s %v", e.Kind, e.From, e.To, e.Attributes); got != want {
				t.Errorf("ledger %s\nwant   %s", got, want)
			}
		}
		w.twice("the first", func() error { return up("ann", "d1", "v1", []string{"A"}) })
		last("instance >running map[by:ann commit:c0ffee sett:v1 settings:d1 with:sett up]")
		must(t, w.b.Leader.Enact(w.ctx, w.epoch, []string{"A"}, ""))
		last("policy > map[approve:A by:ann setting:approve settings:d1]")
		must(t, w.b.Leader.SetLanding(w.ctx, w.epoch, "main"))
		last("policy > map[by:ann land:main setting:land settings:d1]")

		w.twice("a change while it runs", func() error { return up("mallory", "d2", "v1", nil, "approve", "budget.calls") })
		last("instance running>running map[by:mallory changed:approve budget.calls commit:c0ffee sett:v1 settings:d2 with:sett up]")
		must(t, w.b.Leader.Enact(w.ctx, w.epoch, nil, ""))
		last("policy >none map[by:mallory setting:approve settings:d2]")
		must(t, w.b.Leader.SetLanding(w.ctx, w.epoch, ""))
		last("policy >none map[setting:land]") // not by the settings that mallory brought

		w.twice("another sett", func() error { return up("bob", "d2", "v2", nil) })
		last("instance running>running map[by:bob commit:c0ffee sett:v2 settings:d2 with:sett up]")
		must(t, up("bob", "d3", "v2", nil))
		last("instance running>running map[by:bob changed:unknown commit:c0ffee sett:v2 settings:d3 with:sett up]")

		w.twice("restart", func() error { return w.b.Restart(w.ctx, "r1", "usage", "usage", "eve") })
		if e := w.lastEvent(); e.Agent != "usage" {
			t.Errorf("restart: %+v", e)
		}
		last("instance >restart map[by:eve part:usage with:sett restart]")
		must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "ann", With: "sett down"}))
		last("instance >stopping map[by:ann with:sett down]")
		must(t, up("ann", "d3", "v2", nil))
		last("instance >running map[by:ann commit:c0ffee sett:v2 settings:d3 with:sett up]")
	})
}

// Each start has an entry, also where the state alone tells of none: it says that no stop came between. What goes on has none.
func TestStartsAreRecorded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		up := func(by, run string, anew bool) error {
			return w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: by, With: "sett up", Run: run, Anew: anew,
				Settings: &blackboard.Settings{Digest: "d1", Sett: "v1"}})
		}
		var got, want []string
		expect := func(when, more string) {
			t.Helper()
			got = nil
			for _, e := range w.events() {
				if e.Kind == blackboard.EventInstance {
					got = append(got, fmt.Sprintf("%s>%s %s", e.From, e.To, e.Attributes["by"]))
				}
			}
			if more != "" {
				want = append(want, more)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %q, want %q", when, got, want)
			}
		}
		must(t, up("old", "", false)) // by an older sett
		expect("the first", ">running old")
		must(t, up("ann", "r0", false))
		expect("it runs since before starts were recorded", "")
		w.twice("the first start that is recorded", func() error { return up("ann", "r1", true) })
		expect("a crash after an older sett", "ended>running ann")
		w.twice("a crash", func() error { return up("bob", "r2", true) })
		expect("a crash", "ended>running bob")
		must(t, up("eve", "r2", false))
		expect("it runs", "")
		must(t, up("eve", "r3", false))
		expect("the up that started it was killed before it recorded that", "ended>running eve")
		w.twice("down", func() error {
			return w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "ann", With: "sett down"})
		})
		expect("down", ">stopping ann")
		w.twice("after a stop", func() error { return up("ann", "r4", true) })
		expect("after a stop", ">running ann")
	})
}

// While the instance stops, nothing new begins; what runs may end.
func TestStopping(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		state, err := w.b.State(w.ctx)
		must(t, err)
		if state != "" {
			t.Errorf("state before it was set: %q", state)
		}
		w.twice("running", func() error {
			return w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "ann"})
		})
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		c, ref := w.run(claim, "a")
		w.twice("stopping", func() error {
			return w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "ann"})
		})
		state, err = w.b.State(w.ctx)
		must(t, err)
		if state != blackboard.InstanceStopping {
			t.Errorf("state %q", state)
		}
		w.refuses("a goal", blackboard.ErrStopping, func() error { return w.b.People.PostGoal(w.ctx, goal("x"), "ann") })
		w.refuses("a start", blackboard.ErrStopping, func() error {
			_, err := w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "b", Holder: "h"})
			return err
		})
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: result(c, "a", blackboard.Standard, "Code", "")}))
		must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "ann"}))
		w.run(claim, "b")

		w.raw("HSET", w.b.c.Keys.Instance(), "schema", "0")
		w.refuses("another schema", blackboard.ErrRefused, func() error {
			return w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "ann"})
		})
	})
}
