package cub

import (
	"context"
	"encoding/json"
	"os"
	"testing"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
)

// With network none neither the tool nor the bid script reaches anything; the cub
// itself does.
func TestNoNetworkForTools(t *testing.T) {
	t.Parallel()
	for network, want := range map[string]struct {
		payload string
		bid     blackboard.BidType
	}{config.NetworkFull: {"reached", blackboard.BidReview}, config.NetworkNone: {"refused", blackboard.BidIgnore}} {
		t.Run(network, func(t *testing.T) {
			t.Parallel()
			c := newClan(t)
			self, err := os.Executable()
			must(t, err)
			dial := func(yes, no string) string {
				b, err := json.Marshal([]string{self, c.server.Addr(), yes, no})
				must(t, err)
				return string(b)
			}
			note := func(s string) string { return `{"artefact_type":"Note","artefact_payload":"` + s + `","summary":""}` }
			c.start("worker", vars{env.ToolNetwork: network, roleVariable: "dialler",
				env.Command: dial(note("reached"), note("refused")), env.BidScript: dial("review", "ignore")})
			if a := c.result(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker"); a.Payload != want.payload {
				t.Errorf("the tool: %s %s", a.Type, a.Payload)
			}
			if bid, why := c.awaitBid(c.open(c.goal("bid").ID, "worker"), "worker"); bid != want.bid || why != "bid script" {
				t.Errorf("the bid script: %s because %s", bid, why)
			}
		})
	}
}

// starved runs tools as if the kernel had killed them for memory.
type starved struct{ toolrun.Runner }

func (s starved) Run(ctx context.Context, c toolrun.Command) (toolrun.Result, error) {
	res, err := s.Runner.Run(ctx, c)
	res.OutOfMemory = res.Signal == "SIGKILL"
	return res, err
}

// That memory ran out is what the Failure says, and the reason of the bid.
func TestOutOfMemory(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	c.startWith(starved{hasty{toolrun.New()}}, "worker", vars{env.Command: shell("kill -9 $$"), env.BidScript: shell("kill -9 $$")})
	a, r := c.failure(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker")
	if a.Type != blackboard.TypeToolExecutionFailure || r.Reason != "tool was killed: out of memory" || r.Signal != "SIGKILL" {
		t.Errorf("got %s: %+v", a.Type, r)
	}
	if bid, why := c.awaitBid(c.open(c.goal("bid").ID, "worker"), "worker"); bid != blackboard.BidIgnore || why != "bid script was killed: out of memory" {
		t.Errorf("bid %s because %s", bid, why)
	}
}
