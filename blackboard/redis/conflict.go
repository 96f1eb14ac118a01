package redis

import (
	"context"
	"strconv"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Clash hands a running grant back until a Conflict is settled. ErrRefused: the grant is no
// longer this holder's.
func (b Cub) Clash(ctx context.Context, q blackboard.Clash) error {
	args := append([]string{q.Claim, q.Agent, strconv.Itoa(q.Attempt), q.Holder}, store.Arguments(q.Conflict)...)
	r, err := b.c.Do(ctx, "clash", args...)
	return store.Done(r, err, "report a conflict of claim %s", q.Claim)
}

// Unclash lets a grant go on that waited for a Conflict.
func (b Leader) Unclash(ctx context.Context, q blackboard.Unclash) error {
	r, err := b.c.Do(ctx, "unclash", q.Epoch, q.Claim, q.Agent, q.Conflict, q.Settled)
	return store.Done(r, err, "go on with claim %s", q.Claim)
}

// ReworkConflict sends the later side of a Conflict back. ErrRefused: its thread has an open claim
// or a newer version.
func (b Leader) ReworkConflict(ctx context.Context, q blackboard.ConflictRework) error {
	args := append([]string{q.Epoch, q.Artefact}, store.Arguments(q.Review)...)
	args = append(args, store.Encode(reworkDetails(&q.Rework)))
	if q.Question == nil {
		args = append(args, "", "", "")
	} else {
		args = append(args, store.Arguments(*q.Question)[1:]...)
	}
	for {
		r, err := b.c.Do(ctx, "conflict_rework", args...)
		if err != nil || r.Status != "ok" || r.Text(0) != "refused" {
			return store.Done(r, err, "rework artefact %s", q.Artefact)
		}
	}
}
