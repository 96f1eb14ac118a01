package redis

import (
	"testing"
	"time"

	"sett/blackboard"
)

// askedBeforeRework has an agent's artefact rejected and a person asked before the
// rework, and returns the question.
func (w *world) askedBeforeRework(agent string) blackboard.Artefact {
	w.Helper()
	first := w.granted(blackboard.PhaseExclusive, agent)
	a := w.finish(first, agent, blackboard.Standard, "Code", "v1")
	must(w.TB, w.b.Leader.CompleteClaim(w.ctx, w.guard(first), ""))
	claim := w.open(a.ID, "r")
	w.grant(claim, blackboard.PhaseReview, "r")
	w.finish(claim, "r", blackboard.Review, "Review", "no")
	id := blackboard.ReworkClaimID(claim)
	q := blackboard.Artefact{ID: newID(), StructuralType: blackboard.Question, Type: "Question", Payload: "what now?",
		SourceArtefacts: []string{a.ID}, ProducedByRole: blackboard.RoleOrchestrator, ClaimID: id, WorkflowID: a.WorkflowID}
	must(w.TB, w.b.Leader.TerminateClaim(w.ctx, w.guard(claim), "feedback", nil, &blackboard.Rework{ClaimID: id, Agent: agent, Question: &q}))
	return q
}

// At the limit of reworks a person is asked, and the rework waits for the answer.
func TestReworkWithQuestion(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		q := w.askedBeforeRework("a")
		id, goalID := q.ClaimID, q.WorkflowID
		if g := w.grantOf(id, "a"); g.State != blackboard.GrantAwaitingAnswer || g.ResultID != q.ID || g.EndedAt.IsZero() {
			t.Errorf("grant %+v", g)
		}
		if wf := w.workflow(goalID); wf.Questions != 1 || wf.Outstanding != 1 {
			t.Errorf("workflow %+v", wf)
		}
		answer := answerTo(q)
		w.twice("answer", func() error {
			agent, err := w.b.People.PostAnswer(w.ctx, q.ID, answer, "ann")
			if agent != "a" {
				t.Errorf("goes on: %q", agent)
			}
			return err
		})
		if g := w.grantOf(id, "a"); g.State != blackboard.GrantQueued || len(g.Asked) != 2 || g.Asked[1] != answer.ID {
			t.Errorf("grant after the answer %+v", g)
		}
	})
}

// A rework before which a person is asked waits for the answer also when it is tried
// again, however often; an answer that there is counts.
func TestRetryOfAskedRework(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		q := w.askedBeforeRework("a")
		claim, goalID := q.ClaimID, q.WorkflowID
		open := func(want ...string) {
			t.Helper()
			got, err := w.b.Index.OpenQuestions(w.ctx)
			must(t, err)
			wantList(t, "questions", got, want...)
			if wf := w.workflow(goalID); wf.Questions != len(want) {
				t.Errorf("workflow %+v, want %d questions", wf, len(want))
			}
		}
		retry := func() {
			t.Helper()
			again := newID()
			w.twice("retry", func() error { return w.b.People.Retry(w.ctx, claim, again, "ann", "") })
			claim = again
		}
		for range 2 {
			must(t, w.b.People.CancelClaim(w.ctx, claim, cancelled(q.ID, claim, goalID), "ann", "later"))
			open()
			w.refuses("an answer to nobody", blackboard.ErrRefused, func() error {
				_, err := w.b.People.PostAnswer(w.ctx, q.ID, answerTo(q), "ann")
				return err
			})
			retry()
			open(q.ID)
			if g := w.grantOf(claim, "a"); g.State != blackboard.GrantAwaitingAnswer || g.ResultID != q.ID || g.EndedAt.IsZero() || g.QueuedAt.IsZero() {
				t.Errorf("grant %+v", g)
			}
			if e := w.lastEvent(); e.Asked() != q.ID || e.Claim != claim {
				t.Errorf("ledger %+v", e)
			}
			work, err := w.b.Index.OpenAgentWork(w.ctx, "a")
			must(t, err)
			wantList(t, "work", work.Grants)
		}
		answer := answerTo(q)
		w.twice("answer", func() error {
			agent, err := w.b.People.PostAnswer(w.ctx, q.ID, answer, "ann")
			if agent != "a" {
				t.Errorf("goes on: %q", agent)
			}
			return err
		})
		open()
		if e := w.lastEvent(); e.Claim != claim {
			t.Errorf("ledger %+v", e)
		}
		w.fail(claim, "a")
		retry()
		open()
		if g := w.grantOf(claim, "a"); g.State != blackboard.GrantQueued || len(g.Asked) != 2 || g.Asked[1] != answer.ID {
			t.Errorf("grant after the answer %+v", g)
		}
	})
}

// What a grant asked whose record is broken is closed with its claim, and nothing
// else is.
func TestCancelBrokenAsker(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseParallel, "broken", "other")
		goalID := w.snapshot(claim).Claim.WorkflowID
		w.finish(claim, "broken", blackboard.Question, "Question", "why?")
		w.finish(claim, "other", blackboard.Question, "Question", "how?")
		q := w.askedBeforeRework("broken")
		bystander := w.granted(blackboard.PhaseExclusive, "broken")
		left := w.finish(bystander, "broken", blackboard.Question, "Question", "who?")
		for _, c := range []string{claim, q.ClaimID} {
			w.raw("HSET", w.b.c.Keys.Claim(c), "grant:broken", "{")
			must(t, w.b.People.CancelClaim(w.ctx, c, cancelled(goalID, c, w.goalOf(c)), "ann", "x"))
			if wf := w.workflow(w.goalOf(c)); wf.Questions != 0 || wf.Status != blackboard.WorkflowFailed {
				t.Errorf("workflow %+v", wf)
			}
		}
		got, err := w.b.Index.OpenQuestions(w.ctx)
		must(t, err)
		wantList(t, "questions", got, left.ID)
	})
}

// goalOf returns a claim's workflow, also when its grants cannot be read.
func (w *world) goalOf(claim string) string {
	w.Helper()
	cs, err := w.b.Records.Claims(w.ctx, []string{claim})
	must(w.TB, err)
	return cs[0].WorkflowID
}

// A board that an older Sett wrote does not count what is suspended: the next leader
// does, also over a record that it cannot read.
func TestSuspendedOnAnOldBoard(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		must(t, w.b.Leader.Enact(w.ctx, w.epoch, []string{"Held"}, ""))
		asked := w.askedBeforeRework("a").ClaimID
		half := w.granted(blackboard.PhaseParallel, "a", "b")
		w.finish(half, "a", blackboard.Question, "Question", "which?")
		held := w.granted(blackboard.PhaseExclusive, "a")
		w.finish(held, "a", blackboard.Standard, "Held", "x")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(held), ""))
		broken := w.granted(blackboard.PhaseExclusive, "a")
		w.finish(broken, "a", blackboard.Question, "Question", "and this?")
		check := func(when string, people, unbroken bool) {
			t.Helper()
			for claim, want := range map[string]bool{asked: people, half: false, held: people, broken: unbroken} {
				if wf := w.workflow(w.goalOf(claim)); wf.OnlyPeople() != want {
					t.Errorf("%s: workflow %+v waits for people alone: %v", when, wf, !want)
				}
			}
		}
		check("counted by the moves", true, true)
		w.raw("HSET", w.b.c.Keys.Claim(broken), "grant:b", "{")
		for _, claim := range []string{asked, half, held, broken} {
			w.raw("HDEL", w.b.c.Keys.Workflow(w.goalOf(claim)), "suspended")
		}
		w.raw("DEL", w.b.c.Keys.SuspendedClaims())
		check("not counted", false, false)
		must(t, w.b.Leader.RenewLead(w.ctx, blackboard.Lead{Holder: "orchestrator", Epoch: w.epoch}, 0))
		_, _, err := w.b.Leader.TakeLead(w.ctx, "next", "", time.Hour)
		must(t, err)
		check("counted by a leader", true, false)
	})
}
