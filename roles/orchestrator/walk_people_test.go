package orchestrator

import (
	"maps"
	"slices"

	"sett/blackboard"
)

// What people do on a random walk. Each move may be repeated.

func (w *walker) says(f func() error) error {
	w.again = f
	return f()
}

func (w *walker) repeat() error {
	if w.again == nil {
		return errNothing
	}
	return w.again()
}

func (w *walker) who() string { return []string{"ann", "bob"}[w.r.IntN(2)] }

func (w *walker) answer() error {
	open, err := w.board.Index.OpenQuestions(w.Context())
	w.must(err)
	q, ok := one(w, open)
	if !ok {
		return errNothing
	}
	a := w.by("ann", blackboard.Answer, q, w.artefact(q).ClaimID, "so")
	return w.says(func() error {
		_, err := w.board.People.PostAnswer(w.Context(), q, a, "ann")
		return err
	})
}

func (w *walker) review() error {
	c, who := w.any(), w.who()
	if c == "" {
		return errNothing
	}
	payload, _ := one(w, []string{"{}", "{}", "no"})
	r := w.by(who, review, w.snapshot(c).Claim.ArtefactID, c, payload)
	return w.says(func() error { return w.board.People.Review(w.Context(), c, r, who) })
}

// gate returns an artefact that waits for approval, or some other one.
func (w *walker) gate() (string, bool) {
	open, err := w.board.Index.OpenGates(w.Context())
	w.must(err)
	if id, ok := one(w, open); ok {
		return id, true
	}
	c := w.any()
	if c == "" {
		return "", false
	}
	return w.snapshot(c).Claim.ArtefactID, true
}

func (w *walker) approve() error {
	id, ok := w.gate()
	if !ok {
		return errNothing
	}
	who := w.who()
	r := w.by(who, review, id, "", "{}")
	return w.says(func() error { return w.board.People.Approve(w.Context(), id, r, who) })
}

func (w *walker) reject() error {
	id, ok := w.gate()
	if !ok {
		return errNothing
	}
	who := w.who()
	r := w.by(who, review, id, "", "no")
	return w.says(func() error {
		_, err := w.board.People.Reject(w.Context(), id, r, who)
		return err
	})
}

func (w *walker) cancel() error {
	c := w.any()
	if c == "" {
		return errNothing
	}
	f := w.by("ann", blackboard.Failure, w.snapshot(c).Claim.ArtefactID, c, "{}")
	f.Type = blackboard.TypeCancelled
	return w.says(func() error { return w.board.People.CancelClaim(w.Context(), c, f, "ann", "test") })
}

func (w *walker) retry() error {
	c, id := w.any(), newID()
	for _, other := range slices.Sorted(maps.Keys(w.claims)) { // the odds are better
		if w.claims[other] == blackboard.Terminated && w.snapshot(other).Claim.RetriedAs == "" && w.r.IntN(3) == 0 {
			c = other
		}
	}
	if c == "" {
		return errNothing
	}
	return w.says(func() error { return w.board.People.Retry(w.Context(), c, id, "ann", "test") })
}

func (w *walker) more() error {
	w.goal("another")
	return nil
}

func (w *walker) cancelGoal() error {
	active, err := w.board.Index.ActiveWorkflows(w.Context())
	w.must(err)
	g, ok := one(w, active)
	if held, err := w.board.Index.OpenGates(w.Context()); err == nil && len(held) > 0 {
		g = w.artefact(held[0]).WorkflowID // the odds are better
	} else if !ok || w.r.IntN(3) > 0 {
		return errNothing
	}
	f := w.by("ann", blackboard.Failure, g, "", "{}")
	f.Type = blackboard.TypeCancelled
	return w.says(func() error { return w.board.People.CancelWorkflow(w.Context(), g, f, "ann", "test") })
}
