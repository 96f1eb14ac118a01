package redis

import (
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// What is open is counted with the time of the oldest, by the blackboard's clock.
func TestFigures(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		ctx, w := testContext(t), newWorld(t, s)
		before, err := w.b.ServerTime(ctx)
		must(t, err)
		empty, err := w.b.Figures(ctx, []string{"a"})
		must(t, err)
		if empty.Claims != 0 || empty.Open.Count != 0 || !empty.Open.Oldest.IsZero() || empty.At.Before(before) {
			t.Errorf("of an empty board: %+v", empty)
		}
		claim := w.granted(blackboard.PhaseParallel, "a", "b")
		other := w.open(w.goal().ID, "a", "b")
		_ = w.goal()
		w.run(claim, "a")
		f, err := w.b.Figures(ctx, []string{"a", "b"})
		must(t, err)
		for what, got := range map[string][2]int64{
			"unclaimed": {f.Unclaimed.Count, 1}, "open": {f.Open.Count, 2}, "goals": {f.Goals.Count, 3}, "artefacts": {f.Artefacts, 3},
			"claims": {f.Claims, 2}, "due of a": {f.Agents["a"].Due.Count, 1}, "due of b": {f.Agents["b"].Due.Count, 1},
			"grants of a": {f.Agents["a"].Grants.Count, 1}, "grants of b": {f.Agents["b"].Grants.Count, 1},
			"events": {f.Events, int64(len(w.events()))}, "questions": {f.Questions.Count, 0}, "gates": {f.Gates.Count, 0},
		} {
			if got[0] != got[1] {
				t.Errorf("%s: %d, want %d", what, got[0], got[1])
			}
		}
		if opened := w.snapshot(claim).Claim.OpenedAt; !f.Open.Oldest.Equal(opened) {
			t.Errorf("the oldest open claim is of %s, want %s", f.Open.Oldest, opened)
		}
		if opened := w.snapshot(other).Claim.OpenedAt; !f.Agents["a"].Due.Oldest.Equal(opened) {
			t.Errorf("a's bid is due since %s, want %s", f.Agents["a"].Due.Oldest, opened)
		}
		if len(f.Running) != 1 || f.Running[0].Agent != "a" {
			t.Errorf("running: %+v", f.Running)
		}
		w.finish(claim, "b", blackboard.Question, "", "?")
		f, err = w.b.Figures(ctx, nil)
		must(t, err)
		if age := f.At.Sub(f.Questions.Oldest); f.Questions.Count != 1 || age < 0 || age > time.Minute {
			t.Errorf("questions: %+v", f.Questions)
		}
	})
}

// Who opened the board hears of every attempt how long it took and whether it came
// through.
func TestObserve(t *testing.T) {
	s := startEmbedded(t)
	var calls, lost int
	b := openOptions(t, store.Options{URL: s.url, Instance: "test", Name: "test", Retries: 2, Backoff: time.Millisecond,
		Observe: func(took time.Duration, gone bool) {
			calls++
			if gone {
				lost++
			}
			if took < 0 || took > time.Minute {
				t.Errorf("a call took %s", took)
			}
		}})
	_, err := b.Index.OpenClaims(testContext(t))
	must(t, err)
	if calls != 2 || lost != 0 { // the first was to connect and to see the schema
		t.Errorf("%d calls, %d lost", calls, lost)
	}
	_, err = b.Records.Artefact(testContext(t), newID())
	wantError(t, "an unknown id", err, blackboard.ErrNotFound)
	if calls != 3 || lost != 0 {
		t.Errorf("%d calls, %d lost, though it answered", calls, lost)
	}
	s.kill()
	_, err = b.Index.OpenClaims(testContext(t))
	wantError(t, "without a server", err, blackboard.ErrUnavailable)
	if calls != 6 || lost != 3 {
		t.Errorf("%d calls, %d lost", calls, lost)
	}
}
