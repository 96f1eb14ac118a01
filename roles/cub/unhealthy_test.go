package cub

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// TestBidsRequired has a bid script fail until it is mended: the cub does not bid, says
// that it is unhealthy, on the board, in the ledger and at /healthz, and bids then.
func TestBidsRequired(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	mended := filepath.Join(t.TempDir(), "mended")
	r := c.start("worker", vars{env.HealthAddr: "127.0.0.1:0", env.BidsRequired: "true",
		env.BidScript: shell("[ -e " + mended + " ] && echo review || exit 4")})
	claim := c.open(c.goal("goal").ID, "worker")
	trouble := func() string {
		all, err := c.board.Roster.Agents(c.ctx)
		must(t, err)
		return all["worker"].Trouble
	}
	until(t, "the agent is unhealthy", func() bool { return strings.Contains(trouble(), "exit code 4") })
	told := func(e blackboard.Event) bool { return e.To == "unhealthy" && strings.Contains(e.Reason, "exit code 4") }
	if all := c.events(blackboard.EventAgent); !slices.ContainsFunc(all, told) {
		t.Errorf("ledger %+v", all)
	}
	if s, err := c.board.Records.Snapshot(c.ctx, claim); err != nil || len(s.Bids) > 0 {
		t.Errorf("bids %v, error %v", s.Bids, err)
	}
	health := func() int {
		res, err := http.Get("http://" + r.log.await(t, "cub started").text("health") + "/healthz")
		must(t, err)
		must(t, res.Body.Close())
		return res.StatusCode
	}
	if got := health(); got != http.StatusServiceUnavailable {
		t.Errorf("/healthz says %d", got)
	}
	must(t, os.WriteFile(mended, nil, 0o600))
	if bid, _ := c.awaitBid(claim, "worker"); bid != blackboard.BidReview {
		t.Errorf("bid %s", bid)
	}
	until(t, "the agent is healthy", func() bool { return trouble() == "" && health() == http.StatusOK })
}

// TestUnhealthyWithoutBidsRequired records an ignore, and is unhealthy all the same.
func TestUnhealthyWithoutBidsRequired(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	c.start("worker", vars{env.BidScript: shell("exit 4")})
	if bid, why := c.awaitBid(c.open(c.goal("goal").ID, "worker"), "worker"); bid != blackboard.BidIgnore || !strings.Contains(why, "exit code 4") {
		t.Errorf("bid %s because %s", bid, why)
	}
	until(t, "the agent is unhealthy", func() bool {
		all, err := c.board.Roster.Agents(c.ctx)
		must(t, err)
		return strings.Contains(all["worker"].Trouble, "exit code 4")
	})
}
