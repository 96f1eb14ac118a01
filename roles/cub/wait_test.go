package cub

import (
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

// A blackboard that has room for little takes no large result: the tool has ended, and the
// grant says what hinders its result, until there is room.
func TestResultWithoutRoom(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	c.start("worker", vars{env.Command: shell(`cat >/dev/null; printf '{"artefact_type":"Text","artefact_payload":"'; printf '%3000000s' '' | tr ' ' x; printf '"}'`)})
	c.server.LeaveRoom(1_000_000)
	t.Cleanup(func() { c.server.LeaveRoom(-1) })
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	until(t, "the wait is on the blackboard, and why", func() bool {
		g := c.await(claim, "worker", blackboard.GrantRunning)
		return !g.WaitsSince.IsZero() && g.WaitsFor == "blackboard" && strings.Contains(g.WaitsWhy, "no space left on device")
	})
	c.server.LeaveRoom(-1)
	if g := c.await(claim, "worker", blackboard.GrantDone); !g.WaitsSince.IsZero() || g.WaitsFor != "" || g.WaitsWhy != "" {
		t.Errorf("grant %+v", g)
	}
}
