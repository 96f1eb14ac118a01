package redis

import (
	"crypto/rand"
	"errors"
	"testing"
	"time"

	"sett/blackboard"
)

// BUG 1: finish overwrites an artefact that exists.
func TestArtefactsAreWrittenOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		first, second := w.granted(blackboard.PhaseExclusive, "a"), w.granted(blackboard.PhaseExclusive, "b")
		a := w.finish(first, "a", blackboard.Standard, "Code", "original")
		c, ref := w.run(second, "b")
		changed := result(c, "b", blackboard.Standard, "Code", "changed")
		changed.ID = a.ID
		w.refuses("another artefact's id", blackboard.ErrRefused, func() error {
			return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: changed})
		})
	})
}

// BUG 2: the same id with other content answers "already".
func TestSameIDOtherContent(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		g := w.goal()
		g.Payload = "something else"
		w.refuses("a goal with other content", blackboard.ErrRefused, func() error { return w.b.People.PostGoal(w.ctx, g, "ann") })
	})
}

// BUG 3: after its Question was answered, the repetition of the asking is refused.
func TestAskAgainAfterAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		c, ref := w.run(claim, "a")
		q := result(c, "a", blackboard.Question, "Question", "which?")
		ask := func() error { return w.b.Cub.Finish(w.ctx, blackboard.Result{GrantRef: ref, Artefact: q}) }
		must(t, ask())
		_, err := w.b.People.PostAnswer(w.ctx, q.ID, answerTo(q), "ann")
		must(t, err)
		must(t, ask())
	})
}

// BUG 4: an answer that is repeated does not say who goes on.
func TestAnswerTwiceNamesTheAgent(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		q := w.finish(claim, "a", blackboard.Question, "Question", "which?")
		answer := answerTo(q)
		for range 2 {
			agent, err := w.b.People.PostAnswer(w.ctx, q.ID, answer, "ann")
			must(t, err)
			if agent != "a" {
				t.Errorf("goes on: %q", agent)
			}
		}
	})
}

// BUG 5: a decision on a closed claim is applied: the workflow is settled twice.
func TestClosedClaimsStayClosed(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		must(t, w.b.Leader.CompleteClaim(w.ctx, w.guard(claim), ""))
		guard := w.guard(claim)
		for name, decide := range map[string]func() error{
			"complete":  func() error { return w.b.Leader.CompleteClaim(w.ctx, guard, "") },
			"grant":     func() error { return w.b.Leader.GrantPhase(w.ctx, guard, blackboard.PhaseReview, []string{"a"}) },
			"terminate": func() error { return w.b.Leader.TerminateClaim(w.ctx, guard, "", nil, nil) },
		} {
			w.refuses(name, blackboard.ErrRefused, decide)
		}
	})
}

// BUG 6: a crash of another attempt by the same holder ends its run.
func TestCrashOfAnotherAttempt(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		_, ref := w.run(claim, "a")
		ref.Attempt++
		w.refuses("another attempt", nil, func() error { return w.b.Leader.RetryGrant(w.ctx, w.epoch, ref, "died") })
	})
}

// BUG 7: an agent that comes or goes is recorded again when the call is repeated.
func TestPresenceTwice(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for name, move := range map[string]func() error{
			"hello":   func() error { return w.b.Cub.Hello(w.ctx, "a", blackboard.Presence{Incarnation: "i1"}, time.Minute) },
			"goodbye": func() error { return w.b.Cub.Goodbye(w.ctx, "a", "i1", "stopped") },
		} {
			must(t, move())
			n := len(w.events())
			must(t, move())
			if len(w.events()) != n {
				t.Errorf("%s twice: %v", name, kinds(w.events()))
			}
		}
	})
}

// BUG 8: a broken heartbeat reads as 1970, not as none.
func TestBrokenHeartbeat(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		w.raw("HSET", w.b.c.Keys.Agents(), "b", `{"incarnation":"i"}`)
		w.raw("SET", w.b.c.Keys.Alive("b"), "i soon")
		all, err := w.b.Roster.Agents(w.ctx)
		must(t, err)
		if !all["b"].Alive.IsZero() {
			t.Errorf("alive until %s", all["b"].Alive)
		}
	})
}

// BUG 9: a grant without its fields, or a claim or workflow of a status nobody
// knows, is read as if it were good.
func TestSilentZeros(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		claim := w.granted(blackboard.PhaseExclusive, "a")
		goalID := w.snapshot(claim).Claim.WorkflowID
		w.raw("HSET", w.b.c.Keys.Claim(claim), "grant:a", "{}")
		_, err := w.b.Records.Grant(w.ctx, claim, "a")
		wantError(t, "empty grant", err, blackboard.ErrCorrupt)
		w.raw("HSET", w.b.c.Keys.Claim(claim), "status", "banana")
		_, err = w.b.Records.Claims(w.ctx, []string{claim})
		wantError(t, "claim status", err, blackboard.ErrCorrupt)
		w.raw("HSET", w.b.c.Keys.Workflow(goalID), "status", "banana")
		_, err = w.b.Records.Workflow(w.ctx, goalID)
		wantError(t, "workflow status", err, blackboard.ErrCorrupt)
		w.raw("HSET", w.b.c.Keys.Artifact(goalID), "source_artefacts", "null", "created_at", "")
		_, err = w.b.Records.Artefact(w.ctx, goalID)
		wantError(t, "null sources, no time", err, blackboard.ErrCorrupt)
	})
}

// BUG 10: a claim opened later than ten minutes after its id's time is not found
// by its beginning.
func TestResolveLateClaim(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		g := goal("x")
		g.ID = blackboard.NewID(time.Now().Add(-20*time.Minute), rand.Reader)
		g.WorkflowID = g.ID
		must(t, w.b.People.PostGoal(w.ctx, g, "ann"))
		claim := w.open(g.ID, "a")
		for _, id := range []string{g.ID, claim} {
			if got, _, err := w.b.Index.Resolve(w.ctx, id[:16], blackboard.KindClaim, blackboard.KindArtefact); got == "" && err != nil && !errors.Is(err, blackboard.ErrAmbiguous) {
				t.Errorf("%s: %v", id, err)
			}
		}
	})
}
