//go:build bench

package bench

import (
	"context"
	"testing"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/redistest"
)

func TestSegments(t *testing.T) {
	for _, role := range []string{"cub", "cub-noop"} {
		c := startClan(t, redistest.Start(t).URL, role, oneAgent(t))
		c.measure(t, 20)
		var open, bid, start, tool, finish []time.Duration
		for range 300 {
			id := c.post(t, "x")
			c.drain(t)
			s, _ := c.board.Snapshot(context.Background(), blackboard.BiddingClaimID(id))
			g, _ := c.board.Artefact(context.Background(), id)
			gr := s.Grants[0]
			open = append(open, s.Claim.OpenedAt.Sub(g.CreatedAt))
			bid = append(bid, gr.QueuedAt.Sub(s.Claim.OpenedAt))
			start = append(start, gr.StartedAt.Sub(gr.QueuedAt))
			tool = append(tool, gr.ToolTime)
			finish = append(finish, gr.EndedAt.Sub(gr.StartedAt)-gr.ToolTime)
		}
		t.Logf("%s: open %v, bid+grant %v, start %v, tool %v, around tool %v", role, median(open), median(bid), median(start), median(tool), median(finish))
	}
}
