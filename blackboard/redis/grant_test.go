package redis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
)

func answerTo(q blackboard.Artefact) blackboard.Artefact {
	return blackboard.Artefact{ID: newID(), StructuralType: blackboard.Answer, Type: "Answer", Payload: "because",
		SourceArtefacts: []string{q.ID}, ProducedByRole: blackboard.RoleHuman, WorkflowID: q.WorkflowID}
}

// A Question suspends the grant; its Answer queues it again, as a new attempt
// with both in its record.
func TestQuestionAndAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		goalID := w.snapshot(claim).Claim.WorkflowID
		c, ref := w.run(claim, "a")
		q := result(c, "a", blackboard.Question, "Question", "which?")
		w.twice("ask", func() error { return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: q}) })
		if g := w.grantOf(claim, "a"); g.State != blackboard.GrantAwaitingAnswer || g.ResultID != q.ID {
			t.Errorf("asking: %+v", g)
		}
		open, err := w.b.Index.OpenQuestions(w.ctx)
		must(t, err)
		wantList(t, "open questions", open, q.ID)
		work, err := w.b.Index.OpenAgentWork(w.ctx, "a")
		must(t, err)
		wantList(t, "queue", work.Grants)
		w.refuses("a start while it asks", blackboard.ErrRefused, func() error {
			_, err := w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "a", Holder: "h"})
			return err
		})
		for name, id := range map[string]string{"the goal": goalID, "nothing": newID()} {
			w.refuses("answering "+name, blackboard.ErrRefused, func() error {
				_, err := w.b.People.PostAnswer(w.ctx, id, answerTo(q), "ann")
				return err
			})
		}
		first := answerTo(q)
		agent, err := w.b.People.PostAnswer(w.ctx, q.ID, first, "ann")
		must(t, err)
		if agent != "a" {
			t.Errorf("goes on: %q", agent)
		}
		w.twice("answer", func() error { _, err := w.b.People.PostAnswer(w.ctx, q.ID, first, "ann"); return err })
		w.refuses("another answer", blackboard.ErrRefused, func() error {
			_, err := w.b.People.PostAnswer(w.ctx, q.ID, answerTo(q), "bob")
			return err
		})
		if e := w.lastEvent(); e.Kind != blackboard.EventAnswer || e.Agent != "a" || e.Attributes["by"] != "ann" || e.Attributes["question"] != q.ID {
			t.Errorf("ledger %+v", e)
		}
		late := result(c, "a", blackboard.Standard, "Code", "late")
		w.refuses("a result of the first attempt", blackboard.ErrRefused, func() error {
			return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: late})
		})
		st, again := w.start(claim, "a", "h2")
		if st.Grant.Attempt != 2 || st.Grant.ResultID != "" {
			t.Errorf("started again: %+v", st.Grant)
		}
		wantList(t, "asked", st.Grant.Asked, q.ID, first.ID)
		must(t, w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: again, Artefact: result(c, "a", blackboard.Standard, "Code", "")}))
		if wf := w.workflow(goalID); wf.Questions != 0 || wf.Outstanding != 2 || wf.Artefacts != 4 {
			t.Errorf("workflow %+v", wf)
		}
	})
}

// Only the attempt and holder that have a grant can end it or hand it back.
func TestOnlyTheHolder(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		c, ref := w.run(claim, "a")
		for name, change := range map[string]func(*blackboard.GrantRef){
			"another holder":  func(r *blackboard.GrantRef) { r.Holder = "h2" },
			"no holder":       func(r *blackboard.GrantRef) { r.Holder = "" },
			"another attempt": func(r *blackboard.GrantRef) { r.Attempt = 2 },
			"no attempt":      func(r *blackboard.GrantRef) { r.Attempt = 0 },
			"another agent":   func(r *blackboard.GrantRef) { r.Agent = "b" },
			"another claim":   func(r *blackboard.GrantRef) { r.Claim = newID() },
		} {
			wrong := ref
			change(&wrong)
			a := result(c, "a", blackboard.Standard, "Code", "x")
			w.refuses("a result of "+name, blackboard.ErrRefused, func() error {
				return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: wrong, Artefact: a})
			})
			before := w.dump()
			_ = w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: wrong, Most: 10, Reason: "stopped"})
			w.unchanged("handing back as "+name, before)
		}
		w.refuses("a start by another holder", blackboard.ErrRefused, func() error {
			_, err := w.b.Cub.Start(w.ctx, blackboard.StartRequest{Claim: claim, Agent: "a", Holder: "h2"})
			return err
		})
		wantError(t, "handing back a grant nobody has", w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: blackboard.GrantRef{Claim: newID(), Agent: "a", Attempt: 1, Holder: "h"}, Most: 10}), blackboard.ErrRefused)
		_, err := w.b.Records.Grant(w.ctx, claim, "b")
		wantError(t, "no such grant", err, blackboard.ErrNotFound)
	})
}

// A grant that was handed back is a new attempt for whoever comes next.
func TestRequeue(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		_, ref := w.start(claim, "a", "h1")
		w.twice("hand back", func() error {
			return w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref, Most: 10, Reason: "stopped"})
		})
		if g := w.grantOf(claim, "a"); g.State != blackboard.GrantQueued || g.Attempt != 2 || g.Holder != "" || g.Crashes != 0 {
			t.Errorf("grant %+v", g)
		}
		if e := w.lastEvent(); e.Kind != blackboard.EventRequeue || e.Reason != "stopped" || e.Attributes["attempt"] != "2" {
			t.Errorf("ledger %+v", e)
		}
		if st, _ := w.start(claim, "a", "h2"); st.Grant.Attempt != 2 {
			t.Errorf("started %+v", st)
		}
	})
}

// A grant that was handed back, however often, comes before those that were queued after it. One whose holder died
// comes behind them: it may be the cause.
func TestPlaceInLine(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		first, second, third := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "a")
		line := func(what string, want ...string) {
			t.Helper()
			work, err := w.b.Index.OpenAgentWork(w.ctx, "a")
			must(t, err)
			wantList(t, what, work.Grants, want...)
			places := map[string]time.Time{}
			for _, id := range want {
				places[id] = w.grantOf(id, "a").Place()
			}
			if !slices.IsSortedFunc(want, func(a, b string) int { return places[a].Compare(places[b]) }) {
				t.Errorf("%s: the places are %v", what, places)
			}
		}
		line("queued", first, second, third)
		for range 2 {
			_, a := w.start(first, "a", "h")
			_, b := w.start(second, "a", "h")
			for _, ref := range []blackboard.GrantRef{b, a} {
				must(t, w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref, Most: 10, Reason: "stopped"}))
			}
			line("handed back", first, second, third)
		}
		if g := w.grantOf(first, "a"); !g.QueuedAt.After(g.LineSince) || g.LineSince.IsZero() {
			t.Errorf("since when it is queued is lost: %+v", g)
		}
		_, ref := w.start(first, "a", "h")
		must(t, w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died"))
		line("died", second, third, first)
		_, ref = w.start(first, "a", "h")
		must(t, w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref, Most: 10, Reason: "stopped"}))
		line("handed back after it died", second, third, first)
	})
}

// A grant is handed back so often and no oftener; when the whole instance stops that
// does not count.
func TestRequeueIsBounded(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		for n := range 4 {
			_, ref := w.start(claim, "a", "h")
			if n == 1 {
				must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
			}
			w.twice("hand back", func() error {
				return w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref, Most: 3, Reason: "stopped"})
			})
			if n == 1 {
				must(t, w.b.SetInstance(w.ctx, blackboard.InstanceMove{State: blackboard.InstanceRunning, By: "test"}))
			}
		}
		_, ref := w.start(claim, "a", "h")
		w.refuses("once more", blackboard.ErrRefused, func() error {
			return w.b.Cub.Requeue(w.ctx, blackboard.HandBack{GrantRef: ref, Most: 3, Reason: "stopped"})
		})
		if g := w.grantOf(claim, "a"); g.State != blackboard.GrantRunning || g.Attempt != 5 || g.Crashes != 0 {
			t.Errorf("grant %+v", g)
		}
	})
}

// crashCase is a grant in one state, and how a crash names it.
var crashCases = map[string]func(w *world, claim string) blackboard.GrantRef{
	"queued": func(_ *world, claim string) blackboard.GrantRef {
		return blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: 1, Holder: ""}
	},
	"running": func(w *world, claim string) blackboard.GrantRef {
		_, ref := w.run(claim, "a")
		return ref
	},
	"awaiting": func(w *world, claim string) blackboard.GrantRef {
		w.finish(claim, "a", blackboard.Question, "Question", "?")
		return blackboard.GrantRef{Claim: claim, Agent: "a", Attempt: 1, Holder: ""}
	},
}

// The grant of somebody who died, or whom nobody runs any more, fails with one
// Failure or is queued for one new attempt.
func TestCrash(t *testing.T) {
	for state, arrange := range crashCases {
		t.Run(state, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *server) {
				w := newWorld(t, s)
				claim := w.granted(blackboard.PhaseExclusive, "a")
				ref := arrange(w, claim)
				goalID := w.snapshot(claim).Claim.WorkflowID
				f := failure(goalID, blackboard.TypeAgentCrashed)
				f.ClaimID, f.ProducedByAgent = claim, "a"
				w.refuses("a stale epoch", blackboard.ErrStale, func() error { return w.b.Leader.FailGrant(w.ctx, "99", ref, "died", f) })
				for name, change := range map[string]func(*blackboard.GrantRef){
					"another holder": func(r *blackboard.GrantRef) { r.Holder += "x" },
					"another agent":  func(r *blackboard.GrantRef) { r.Agent = "b" },
				} {
					wrong := ref
					change(&wrong)
					w.refuses(name, nil, func() error { return w.b.Leader.RetryGrant(w.ctx, w.epoch, wrong, "died") })
				}
				w.twice("retry", func() error { return w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died") })
				if g := w.grantOf(claim, "a"); g.State != blackboard.GrantQueued || g.Attempt != 2 || g.Crashes != 1 || g.Reason != "died" {
					t.Errorf("retried: %+v", g)
				}
				if wf := w.workflow(goalID); wf.Failures != 0 || wf.Questions != 0 {
					t.Errorf("workflow after the retry %+v", wf)
				}
				_, second := w.run(claim, "a")
				w.twice("fail", func() error { return w.b.Leader.FailGrant(w.ctx, w.epoch, second, "died again", f) })
				if g := w.grantOf(claim, "a"); g.State != blackboard.GrantFailed || g.Crashes != 2 || g.ResultID != f.ID || g.Reason != "died again" {
					t.Errorf("failed: %+v", g)
				}
				if wf := w.workflow(goalID); wf.Failures != 1 || wf.FailureID != f.ID {
					t.Errorf("workflow %+v", wf)
				}
				wantList(t, "running", w.running())
				late := failure(goalID, "Late")
				w.refuses("a result after the end", blackboard.ErrRefused, func() error {
					return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: second, Artefact: late})
				})
			})
		})
	}
}

// A crash is recorded for a grant in each state without a retry, too.
func TestFailGrant(t *testing.T) {
	for state, arrange := range crashCases {
		t.Run(state, func(t *testing.T) {
			onBoth(t, func(t *testing.T, s *server) {
				w := newWorld(t, s)
				claim := w.granted(blackboard.PhaseExclusive, "a")
				ref := arrange(w, claim)
				f := failure(w.snapshot(claim).Claim.WorkflowID, blackboard.TypeAgentRemoved)
				w.twice("fail", func() error { return w.b.Leader.FailGrant(w.ctx, w.epoch, ref, "removed", f) })
				open, err := w.b.Index.OpenQuestions(w.ctx)
				must(t, err)
				wantList(t, "open questions", open)
				work, err := w.b.Index.OpenAgentWork(w.ctx, "a")
				must(t, err)
				wantList(t, "queue", work.Grants)
				es := strings.Join(kinds(w.events()), " ")
				if strings.Count(es, "result") != strings.Count(state, "awaiting")+1 {
					t.Errorf("ledger %s", es)
				}
			})
		})
	}
}
