//go:build bench

package bench

import (
	"context"
	"strings"
	"testing"
	"time"

	"crypto/rand"
	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/redistest"
)

func TestCost(t *testing.T) {
	s := redistest.Start(t)
	raw := openRaw(t, s.URL)
	b := openBoard(t, s.URL)
	ctx := context.Background()
	lead, _, _ := b.TakeLead(ctx, "x", "", time.Hour)
	stat := func(name string, f func()) {
		raw("CONFIG", "RESETSTAT")
		began := time.Now()
		f()
		took := time.Since(began)
		for _, line := range strings.Split(raw("INFO", "commandstats"), "\n") {
			if strings.HasPrefix(line, "cmdstat_evalsha:") {
				t.Logf("%-10s rtt %v  %s", name, took/200, line)
			}
		}
	}
	var goals []string
	stat("goal", func() {
		for range 200 {
			g := goal("x")
			goals = append(goals, g.ID)
			b.PostGoal(ctx, g)
		}
	})
	stat("open", func() {
		for _, g := range goals {
			b.OpenClaim(ctx, lead.Epoch, g, []string{"a"}, 100)
		}
	})
	stat("bid", func() {
		for _, g := range goals {
			b.SubmitBids(ctx, []redis.BidRequest{{blackboard.BiddingClaimID(g), "a", "exclusive", "", nil}})
		}
	})
	stat("grant", func() {
		for _, g := range goals {
			b.GrantPhase(ctx, redis.Guard{lead.Epoch, blackboard.BiddingClaimID(g), 2, nil}, "exclusive", []string{"a"})
		}
	})
	stat("start", func() {
		for _, g := range goals {
			b.Start(ctx, redis.StartRequest{blackboard.BiddingClaimID(g), "a", "h", "ro"})
			b.Release(ctx, blackboard.BiddingClaimID(g), "a", "", "")
		}
	})
	stat("finish", func() {
		for _, g := range goals {
			b.Finish(ctx, redis.Result{GrantRef: redis.GrantRef{blackboard.BiddingClaimID(g), "a", 1, "h"}, Artefact: blackboard.Artefact{ID: blackboard.NewID(time.Now(), rand.Reader), StructuralType: "Standard", Type: "T", Payload: "x", SourceArtefacts: []string{g}, ProducedByAgent: "a", ProducedByRole: "a", ClaimID: blackboard.BiddingClaimID(g), WorkflowID: g}})
		}
	})
	stat("complete", func() {
		for _, g := range goals {
			b.CompleteClaim(ctx, redis.Guard{lead.Epoch, blackboard.BiddingClaimID(g), 5, nil}, "")
		}
	})
	began := time.Now()
	for range 500 {
		b.Ping(ctx)
	}
	t.Logf("ping %v", time.Since(began)/500)
	began = time.Now()
	for range 500 {
		b.Snapshot(ctx, blackboard.BiddingClaimID(goals[0]))
	}
	t.Logf("snapshot %v", time.Since(began)/500)
}
