//go:build bench

package bench

import (
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
	"sett/contract/config"
)

// TestBenchCheck is what a check agent takes beside its tool: from the grant to its Review,
// less the time from the tool's start to its end.
func TestBenchCheck(t *testing.T) {
	const goals = 200
	vet := member{name: "vet", bids: rules(blackboard.BidReview), tool: []string{"true"}, adapter: config.Adapter{Kind: config.AdapterCheck, Stdin: config.StdinNone}}
	c := startClan(t, redistest.Start(t, redistest.Durable...).URL, "cub", append(oneAgent(t), vet))
	c.measure(t, 20)
	var all []time.Duration
	for range goals {
		id := c.post(t, "x")
		c.drain(t)
		s, err := c.board.Records.Snapshot(t.Context(), blackboard.BiddingClaimID(id))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range s.Grants {
			if g.Agent == vet.name {
				all = append(all, g.EndedAt.Sub(g.QueuedAt)-g.ToolTime)
			}
		}
	}
	if len(all) != goals {
		t.Fatalf("%d Reviews of %d goals", len(all), goals)
	}
	verdict(t, "check agent, from its grant to its Review, less its tool", median(all).Seconds()*1000, 5, "ms")
}
