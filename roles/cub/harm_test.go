package cub

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
)

// harmful runs tools as if the first run of a program did damage to the cub.
type harmful struct {
	toolrun.Runner
	program string
	done    *atomic.Bool
}

func (h harmful) Run(ctx context.Context, c toolrun.Command) (toolrun.Result, error) {
	res, err := h.Runner.Run(ctx, c)
	if strings.Contains(strings.Join(c.Args, " "), h.program) && h.done.CompareAndSwap(false, true) {
		res.Harm = "a tool changed limit 7 of the cub to 8"
	}
	return res, err
}

// TestHarmedByTool ends a cub whose tool has harmed it, and hands its grant back. The next
// cub does the work.
func TestHarmedByTool(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	runner := harmful{hasty{toolrun.New()}, good, new(atomic.Bool)}
	settings := vars{env.Command: shell("echo '" + good + "'")}
	r := c.startWith(runner, "worker", settings)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	if err := r.end(); !errors.Is(err, errHarmed) || !strings.Contains(err.Error(), "limit 7") {
		t.Fatalf("the cub ended with %v", err)
	}
	if g := c.await(claim, "worker", blackboard.GrantQueued); g.Attempt != 2 || g.Crashes != 0 {
		t.Errorf("grant %+v", g)
	}
	harmed := func(e blackboard.Event) bool { return strings.Contains(e.Reason, "limit 7") }
	if all := c.events(blackboard.EventRequeue); len(all) != 1 || !slices.ContainsFunc(all, harmed) {
		t.Errorf("ledger %+v", all)
	}
	c.startWith(runner, "worker", settings)
	c.await(claim, "worker", blackboard.GrantDone)
}

// TestHarmedByBidScript ends a cub whose bid script has harmed it, without a bid. The next
// cub bids.
func TestHarmedByBidScript(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	runner := harmful{hasty{toolrun.New()}, "echo review", new(atomic.Bool)}
	settings := vars{env.BidScript: shell("echo review")}
	r := c.startWith(runner, "worker", settings)
	claim := c.open(c.goal("goal").ID, "worker")
	if err := r.end(); !errors.Is(err, errHarmed) {
		t.Fatalf("the cub ended with %v", err)
	}
	if s, err := c.board.Records.Snapshot(c.ctx, claim); err != nil || len(s.Bids) > 0 {
		t.Errorf("bids %v, error %v", s.Bids, err)
	}
	c.startWith(runner, "worker", settings)
	if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidReview {
		t.Errorf("bid %s", bid)
	}
}
