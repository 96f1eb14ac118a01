package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// What can have become of a gate.
const (
	gateHeld     = "held"
	gateApproved = "approved"
	gateRejected = "rejected"
)

// gate is an artefact's wait for approval, and how that ended. The names of its
// fields are part of the interface.
type gate struct {
	State     string    `json:"state"`               // held, approved or rejected
	ReviewID  string    `json:"review_id,omitempty"` // the Review that decided; this and all that follows is absent while it is held
	By        string    `json:"by,omitempty"`        // whose Review it is
	Says      string    `json:"says,omitempty"`      // the gist of the Review
	DecidedAt time.Time `json:"decided_at,omitzero"`
	Waited    *float64  `json:"waited_seconds,omitempty"`
}

// decidedGate is the gate of an artefact that a Review decided about. One whose
// payload was too long to be read is feedback, as approval is a few bytes.
func decidedGate(a blackboard.Artefact, review *redis.Outline) *gate {
	g := &gate{State: gateRejected, ReviewID: review.ID, By: blackboard.PersonOf(review.Artefact), Says: gistOf(review),
		DecidedAt: review.CreatedAt, Waited: seconds(a.CreatedAt, review.CreatedAt)}
	if blackboard.VerdictOf(review.Payload) == blackboard.Approve {
		g.State = gateApproved
	}
	return g
}

// readGate returns an artefact's gate; nil when it has none.
func readGate(ctx context.Context, b *redis.Board, a blackboard.Artefact) (*gate, error) {
	if a.StructuralType != blackboard.Standard && a.StructuralType != blackboard.Terminal {
		return nil, nil
	}
	open, err := b.OpenGates(ctx) // first: what is not open any more has been decided about
	if err != nil {
		return nil, err
	}
	if slices.Contains(open, a.ID) {
		return &gate{State: gateHeld}, nil
	}
	all, each, err := b.OutlinesWithTexts(ctx, []string{blackboard.GateReviewID(a.ID)}, maxShown)
	if err != nil || errors.Is(each[0], blackboard.ErrNotFound) {
		return nil, err
	}
	if each[0] != nil {
		return nil, each[0]
	}
	return decidedGate(a, &all[0]), nil
}

// isHeld says whether a person has yet to decide.
func (g *gate) isHeld() bool { return g != nil && g.State == gateHeld }

// decision says how it ended, and who decided; empty without a gate.
func (g *gate) decision() string {
	switch {
	case g == nil:
		return ""
	case g.isHeld():
		return "waits for a person"
	}
	return fmt.Sprintf("%s by %s", g.State, g.By)
}

// text is for people; empty without a gate.
func (g *gate) text(a *app) string {
	if g == nil || g.isHeld() {
		return g.decision()
	}
	return fmt.Sprintf("%s at %s, Review %s", g.decision(), a.clock(g.DecidedAt), short(g.ReviewID))
}

func (g *gate) style() style {
	switch {
	case g == nil:
		return plain
	case g.State == gateApproved:
		return good
	case g.State == gateRejected:
		return warn
	}
	return plain
}
