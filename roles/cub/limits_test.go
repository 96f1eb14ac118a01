package cub

import (
	"context"
	"encoding/json"
	"os"
	"strings"
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
	if res.OutOfMemory = res.Signal == "SIGKILL"; res.OutOfMemory || strings.Contains(string(res.Stderr), "Killed") {
		res.MemoryKill = blackboard.KilledOfTool
	}
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

// TestChildOutOfMemory: a check whose child the kernel killed gives no verdict by its exit
// code; where it ends well all the same, the result, the log and the bid tell of it.
func TestChildOutOfMemory(t *testing.T) {
	t.Parallel()
	const killed = "out of memory: a process of the tool was killed"
	c := newClan(t)
	tool := shell(`echo Killed >&2; [ "$SETT_TARGET_PAYLOAD" != bad ]`)
	r := c.startWith(starved{hasty{toolrun.New()}}, "worker", vars{env.Command: tool, env.Adapter: `{"adapter":"check"}`,
		env.BidScript: shell("echo Killed >&2; exit 3")})
	claim := c.work("worker", blackboard.PhaseReview, "bad")
	c.await(claim, "worker", blackboard.GrantFailed)
	if a, f := c.failure(claim, "worker"); a.Type != blackboard.TypeToolExecutionFailure || f.Reason != killed+"; tool ended with exit code 1: Killed" {
		t.Errorf("got %s: %+v", a.Type, f)
	}
	a := c.result(c.work("worker", blackboard.PhaseReview, "good"), "worker")
	if a.StructuralType != blackboard.Review || blackboard.VerdictOf(a.Payload) != blackboard.Approve || string(a.Metadata) != `{"memory_kill":"tool"}` {
		t.Errorf("got %s %s %s", a.StructuralType, a.Payload, a.Metadata)
	}
	if !strings.Contains(r.log.String(), killed) {
		t.Errorf("the log has\n%s", r.log.String())
	}
	if bid, why := c.awaitBid(c.open(c.goal("bid").ID, "worker"), "worker"); bid != blackboard.BidIgnore || !strings.HasPrefix(why, killed+"; bid script ended with exit code 3") {
		t.Errorf("bid %s because %s", bid, why)
	}
}
