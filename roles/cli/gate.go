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

// gateView is the gate that an artefact stands at, or stood at.
type gateView struct {
	State string    `json:"state"`               // open, approved or rejected
	By    string    `json:"by,omitempty"`        // who decided
	At    time.Time `json:"decided_at,omitzero"` // when
	ID    string    `json:"review_id,omitempty"` // the Review that says so
}

// readGate returns an artefact's gate; nil when it has none.
func readGate(ctx context.Context, b *redis.Board, a blackboard.Artefact) (*gateView, error) {
	if a.StructuralType != blackboard.Standard && a.StructuralType != blackboard.Terminal {
		return nil, nil
	}
	open, err := b.OpenGates(ctx) // first: what is not open any more has been decided about
	if err != nil {
		return nil, err
	}
	if slices.Contains(open, a.ID) {
		return &gateView{State: "open"}, nil
	}
	r, err := b.Artefact(ctx, blackboard.GateReviewID(a.ID))
	if errors.Is(err, blackboard.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v := &gateView{State: "approved", By: blackboard.PersonOf(r), At: r.CreatedAt, ID: r.ID}
	if blackboard.VerdictOf(r.Payload) != blackboard.Approve {
		v.State = "rejected"
	}
	return v, nil
}

// text is for people; empty without a gate.
func (v *gateView) text(a *app) string {
	switch {
	case v == nil:
		return ""
	case v.ID == "":
		return "waits for a person"
	}
	return fmt.Sprintf("%s by %s at %s, Review %s", v.State, v.By, a.clock(v.At), short(v.ID))
}
