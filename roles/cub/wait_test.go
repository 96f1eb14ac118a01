package cub

import (
	"os"
	"path/filepath"
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

// pausedClan is a clan of which a person has stopped all calls of models.
func pausedClan(t *testing.T) *clan {
	t.Helper()
	c := newClan(t)
	must(t, c.board.People.PauseModels(c.ctx, true, "ann", "dear\n now"))
	return c
}

// waitsForModel waits until an agent's grant does, and returns it.
func (c *clan) waitsForModel(claim, agent string) (g blackboard.Grant) {
	c.t.Helper()
	until(c.t, "the grant waits for its model", func() bool {
		g = c.await(claim, agent, blackboard.GrantRunning, blackboard.GrantQueued, blackboard.GrantDone, blackboard.GrantFailed)
		if g.State.Ended() {
			c.t.Fatalf("it did not wait: %+v", g)
		}
		return g.WaitsForModel()
	})
	return g
}

// An agent with a model does not begin while all calls of models are paused: its grant says so. A stop of the cub hands it
// back, the next cub waits anew, and the tool runs, for the whole of its timeout, when calls go on.
func TestPausedModels(t *testing.T) {
	t.Parallel()
	c := pausedClan(t)
	seen := filepath.Join(t.TempDir(), "seen")
	variables := withModel("http://127.0.0.1:1", vars{env.Command: shell(`cat >/dev/null; echo x >>` + seen + `; echo '` + good + `'`)})
	r := c.start("worker", variables)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	if g := c.waitsForModel(claim, "worker"); g.WaitsWhy != "all calls of models are paused by ann (dear now): sett models resume" || g.Attempt != 1 {
		t.Errorf("grant %+v", g)
	}
	said := r.log.await(t, "waiting for the model", "claim", claim)
	if !strings.Contains(said.text("reason"), "sett models resume") {
		t.Errorf("logged %v", said)
	}
	r.stop()
	must(t, r.end())
	if g := c.await(claim, "worker", blackboard.GrantQueued); g.Attempt != 2 || g.Crashes != 0 || !g.WaitsSince.IsZero() {
		t.Errorf("grant %+v", g)
	}
	r = c.start("worker", variables)
	c.waitsForModel(claim, "worker")
	if _, err := os.Stat(seen); err == nil {
		t.Error("the tool ran")
	}
	must(t, c.board.People.PauseModels(c.ctx, false, "ann", ""))
	if g := c.await(claim, "worker", blackboard.GrantDone, blackboard.GrantFailed); g.State != blackboard.GrantDone || !g.WaitsSince.IsZero() || g.Attempt != 2 {
		t.Errorf("grant %+v", g)
	}
	if text, err := os.ReadFile(seen); err != nil || string(text) != "x\n" {
		t.Errorf("the tool ran %q, %v", text, err)
	}
	if all := c.events(blackboard.EventWait); len(all) != 4 || !all[2].WaitsForModel() || all[3].To != "over" || !all[2].OnlyPeople() || all[3].OnlyPeople() {
		t.Errorf("ledger %+v", all)
	}
	c.work("worker", blackboard.PhaseExclusive, "another")
	r.log.await(t, "tool starting")
}

// The end of a grant ends its wait for the model, and the agent takes the next one.
func TestPausedModelsAndCancel(t *testing.T) {
	t.Parallel()
	c := pausedClan(t)
	r := c.start("worker", withModel("http://127.0.0.1:1", vars{env.Command: shell(`cat >/dev/null; echo '` + good + `'`)}))
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	c.waitsForModel(claim, "worker")
	c.terminate(claim, "cancelled", nil)
	r.log.await(t, "tool stopped: grant cancelled", "claim", claim)
	c.waitsForModel(c.work("worker", blackboard.PhaseExclusive, "next"), "worker")
	if all := r.log.find(t, "tool starting"); len(all) > 0 {
		t.Errorf("a tool ran: %v", all)
	}
}

// Agents whose tools have no way to a model work on.
func TestPausedModelsOfOthers(t *testing.T) {
	t.Parallel()
	c := pausedClan(t)
	tool := shell(`cat >/dev/null; echo '` + good + `'`)
	c.start("plain", vars{env.Command: tool})
	c.start("bidder", withModel("http://127.0.0.1:1", vars{env.ModelDoor: "off", env.Command: tool}))
	for _, agent := range []string{"plain", "bidder"} {
		c.await(c.work(agent, blackboard.PhaseExclusive, "goal"), agent, blackboard.GrantDone)
	}
}
