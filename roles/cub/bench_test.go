package cub

import (
	"os"
	"os/exec"
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
// result, less the time that the tool alone takes.
func BenchmarkCheck(b *testing.B) {
	c := newClan(b)
	c.start("checker", vars{env.Command: `["true"]`, env.Adapter: `{"adapter":"check","stdin":"none"}`})
	var alone, granted time.Duration
	for b.Loop() {
		begun := time.Now()
		must(b, exec.Command("true").Run())
		alone += time.Since(begun)
		claim := c.open(c.goal("x").ID, somebody)
		begun = time.Now()
		c.grant(claim, blackboard.PhaseReview, "checker")
		c.await(claim, "checker", blackboard.GrantDone)
		granted += time.Since(begun)
	}
	b.ReportMetric((granted-alone).Seconds()*1000/float64(b.N), "ms/check")
}
