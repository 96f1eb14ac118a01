package cub

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/view"
)

// Bounds of the wait until the gateway has counted the last call of a tool that ended.
const (
	countWithin = 2 * time.Second
	countEvery  = 20 * time.Millisecond
)

// withUsage adds the calls of the model that the grant made, attempts before this one
// included, to the metadata of its result. The account on the blackboard is right also
// where it cannot be read here.
func withUsage(ctx context.Context, x *executor, w *work, metadata json.RawMessage) json.RawMessage {
	if x.settings.Asks.Gateway == "" {
		return metadata
	}
	ctx, cancel := context.WithTimeout(ctx, countWithin)
	defer cancel()
	awaitCounts(ctx, x, w)
	s, err := x.board.spending(ctx, w.Claim.WorkflowID)
	used := s.Of(w.Claim.ID, x.settings.Agent)
	if err != nil {
		w.log.Warn("calls of the model not noted in the result", "error", err)
	}
	if len(used) == 0 {
		return metadata
	}
	fields := map[string]json.RawMessage{}
	if len(metadata) > 0 && json.Unmarshal(metadata, &fields) != nil {
		return metadata
	}
	fields[blackboard.MetadataModels], err = json.Marshal(view.SpentOf(used))
	if err != nil {
		return metadata
	}
	with, err := json.Marshal(fields)
	if err != nil {
		return metadata
	}
	return with
}

// awaitCounts returns when no call of the grant is under way any more.
func awaitCounts(ctx context.Context, x *executor, w *work) {
	every := time.NewTicker(countEvery)
	defer every.Stop()
	for {
		calls, err := x.board.calls(ctx)
		own := func(c blackboard.PendingCall) bool {
			return c.Claim == w.Claim.ID && c.Agent == x.settings.Agent && !c.Bid()
		}
		if err != nil || !slices.ContainsFunc(calls, own) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}
