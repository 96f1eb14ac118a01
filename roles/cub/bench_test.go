package cub

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
)

// BenchmarkStandby is the time from the assignment of a claim to the first line of the
// tool, in a worker that waited for it; for a tool without a tree, and for tools with one
// to read and to write.
// What it takes to start the worker is not in it.
func BenchmarkStandby(b *testing.B) {
	for _, mode := range []string{"none", "ro", "rw"} {
		b.Run(mode, func(b *testing.B) {
			c := newClan(b)
			f := newForge(b)
			pipe := filepath.Join(b.TempDir(), "pipe")
			must(b, syscall.Mkfifo(pipe, 0o600))
			for b.Loop() {
				b.StopTimer()
				incarnation, claim := newID(), c.work("worker", blackboard.PhaseExclusive, "goal")
				r := c.start("worker", f.writer("worker", vars{env.Incarnation: incarnation, env.WorkspaceMode: mode,
					env.Command: shell("echo >" + pipe + "; echo '" + good + "'")}), "--standby")
				r.log.await(b, "waiting for a claim")
				b.StartTimer()
				must(b, c.board.Leader.Assign(c.ctx, c.lead.Epoch, "worker", incarnation, claim, 1))
				_, err := os.ReadFile(pipe)
				b.StopTimer()
				must(b, err)
				must(b, r.end())
				must(b, c.board.Leader.ForgetWorker(c.ctx, "worker", incarnation))
				b.StartTimer()
			}
		})
	}
}

// BenchmarkExecuteOnly is the same for a worker that is started for its claim, in
// this process: from its start.
func BenchmarkExecuteOnly(b *testing.B) {
	c := newClan(b)
	pipe := filepath.Join(b.TempDir(), "pipe")
	must(b, syscall.Mkfifo(pipe, 0o600))
	for b.Loop() {
		b.StopTimer()
		claim := c.work("worker", blackboard.PhaseExclusive, "goal")
		b.StartTimer()
		r := c.start("worker", vars{env.Command: shell("echo >" + pipe + "; echo '" + good + "'")}, "--execute-claim", claim)
		_, err := os.ReadFile(pipe)
		b.StopTimer()
		must(b, err)
		must(b, r.end())
		b.StartTimer()
	}
}

// BenchmarkCheck is the time that a check agent takes beside its tool: from the grant to the
// result, less the time from the tool's start to its end; for a tool without a tree, and for
// one with a tree to read that is at its commit already, as in local mode.
func BenchmarkCheck(b *testing.B) {
	for _, mode := range []string{"none", "ro"} {
		b.Run(mode, func(b *testing.B) {
			c := newClan(b)
			f := newForge(b)
			c.start("checker", f.writer("checker", vars{env.Command: `["true"]`, env.Adapter: `{"adapter":"check","stdin":"none"}`, env.WorkspaceMode: mode}))
			var beside time.Duration
			for b.Loop() {
				claim := c.open(c.goal("x").ID, somebody)
				c.grant(claim, blackboard.PhaseReview, "checker")
				g := c.await(claim, "checker", blackboard.GrantDone)
				beside += g.EndedAt.Sub(g.QueuedAt) - g.ToolTime
			}
			b.ReportMetric(beside.Seconds()*1000/float64(b.N), "ms/check")
		})
	}
}
