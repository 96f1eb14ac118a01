//go:build bench

package bench

import (
	"context"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

// TestBenchDockerGoal tells what containers cost a goal that a standing agent works
// on, beside the same tool and orchestrator as processes with the same durability.
func TestBenchDockerGoal(t *testing.T) {
	r := newRig(t)
	b := r.newBox(1, "")
	b.up()
	here := startClan(t, redistest.Start(t, redistest.Durable...).URL, "cub", []member{
		{name: agentName(0), bids: rules(blackboard.BidExclusive), tool: []string{r.tool}}})
	there := b.clan()
	var total, over [2]series
	for round := range 20 * rounds {
		for i, c := range []*clan{there, here} {
			id := c.run(t)
			if round < rounds {
				continue // the first are to warm up
			}
			over[i].add(c.overhead(t, id))
			total[i].add(c.total(t, id))
		}
	}
	t.Logf("goal to result in containers %v, as processes %v; %s", total[0], total[1], load())
	t.Logf("of it beyond the tool: in containers %v, as processes %v: %s", over[0], over[1],
		over[0].spread(over[1]))
}

// total is the time from a goal to the end of its agent's grant.
func (c *clan) total(tb testing.TB, goal string) time.Duration {
	tb.Helper()
	g, err := c.board.Records.Artefact(context.Background(), goal)
	if err != nil {
		tb.Fatal(err)
	}
	return c.grant(tb, goal).EndedAt.Sub(g.CreatedAt)
}
