package view

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/role/words"
)

// The states of a gate.
const (
	GateHeld     = "held"
	GateApproved = "approved"
	GateRejected = "rejected"
)

// Gate is an artefact's wait for approval, and its end. The names of its fields are
// part of the interface.
type Gate struct {
	State     string    `json:"state"`               // held, approved or rejected
	ReviewID  string    `json:"review_id,omitempty"` // the Review that decided; this and all that follows is absent while it is held
	By        string    `json:"by,omitempty"`        // the person who wrote the Review
	Says      string    `json:"says,omitempty"`      // the gist of the Review
	DecidedAt time.Time `json:"decided_at,omitzero"`
	Waited    *float64  `json:"waited_seconds,omitempty"`
}

// DecidedGate is a gate that a Review has decided. A Review whose payload was too long
// to be read is feedback: approval is a few bytes.
func DecidedGate(a blackboard.Artefact, review *blackboard.Outline) *Gate {
	g := &Gate{State: GateRejected, ReviewID: review.ID, By: blackboard.PersonOf(review.Artefact), Says: GistOf(review),
		DecidedAt: review.CreatedAt, Waited: Seconds(a.CreatedAt, review.CreatedAt)}
	if blackboard.VerdictOf(review.Payload) == blackboard.Approve {
		g.State = GateApproved
	}
	return g
}

// ReadGate returns an artefact's gate; nil when it has none.
func ReadGate(ctx context.Context, b Board, a blackboard.Artefact) (*Gate, error) {
	if a.StructuralType != blackboard.Standard && a.StructuralType != blackboard.Terminal {
		return nil, nil
	}
	open, err := b.OpenGates(ctx) // first: a gate that is no longer open has been decided
	if err != nil {
		return nil, err
	}
	if slices.Contains(open, a.ID) {
		return &Gate{State: GateHeld}, nil
	}
	all, each, err := b.OutlinesWithTexts(ctx, []string{blackboard.GateReviewID(a.ID)}, MaxShown)
	if err != nil || errors.Is(each[0], blackboard.ErrNotFound) {
		return nil, err
	}
	if each[0] != nil {
		return nil, each[0]
	}
	return DecidedGate(a, &all[0]), nil
}

// IsHeld says whether a person has yet to decide.
func (g *Gate) IsHeld() bool { return g != nil && g.State == GateHeld }

// Decision names the decision and the person; empty without a gate.
func (g *Gate) Decision() string {
	switch {
	case g == nil:
		return ""
	case g.IsHeld():
		return "waits for a person"
	}
	return fmt.Sprintf("%s by %s", g.State, g.By)
}

// Text is for people; empty without a gate. The clock shows a time of day.
func (g *Gate) Text(clock func(time.Time) string) string {
	if g == nil || g.IsHeld() {
		return g.Decision()
	}
	return fmt.Sprintf("%s at %s, Review %s", g.Decision(), clock(g.DecidedAt), words.Short(g.ReviewID))
}

// Tone lets the decision stand out.
func (g *Gate) Tone() Tone {
	switch {
	case g == nil:
		return Plain
	case g.State == GateApproved:
		return Good
	case g.State == GateRejected:
		return Warn
	}
	return Plain
}

// Seconds is the time between two times; nil when one of them is unknown.
func Seconds(from, to time.Time) *float64 {
	if from.IsZero() || to.IsZero() {
		return nil
	}
	s := to.Sub(from).Seconds()
	return &s
}
