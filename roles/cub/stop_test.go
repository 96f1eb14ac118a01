package cub

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"sett/blackboard"
	"sett/contract/env"
)

func dead(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// The first request to stop lets the tool finish, and its result is written. New
// work is left in the queue.
func TestFirstSignal(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell(waiting)})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	r.awaitTool()
	r.stop()
	r.log.await(t, "stopping: the running tool may finish")
	next := c.work("worker", blackboard.PhaseExclusive, "next")
	unbid := c.open(c.goal("no bid").ID, "worker")
	r.letToolEnd()
	must(t, r.end())
	if a := c.result(claim, "worker"); a.Payload != "done" {
		t.Errorf("got %+v", a)
	}
	if g := c.await(next, "worker", blackboard.GrantQueued); g.Attempt != 1 {
		t.Errorf("grant %+v", g)
	}
	if s, err := c.board.Records.Snapshot(c.ctx, unbid); err != nil || len(s.Bids) > 0 {
		t.Errorf("bids %v, error %v", s.Bids, err)
	}
	c.start("worker", vars{env.Workspace: r.dir})
	c.await(next, "worker", blackboard.GrantDone)
	c.awaitBid(unbid, "worker")
}

// The second request to stop, and the end of the grace, kill the tool with its
// children, and hand the work back.
func TestSecondSignalAndGrace(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]string{"second signal": "1m", "grace over": "100ms"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClan(t)
			r := c.start("worker", vars{env.Command: shell("trap '' TERM; " + waiting), env.Grace: grace})
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			pid := r.awaitTool()
			r.stop()
			if grace == "1m" {
				r.log.await(t, "stopping: the running tool may finish")
				r.hurry()
			}
			must(t, r.end())
			if !dead(pid) {
				t.Error("the tool still runs")
			}
			g := c.await(claim, "worker", blackboard.GrantQueued)
			if g.Attempt != 2 || g.Crashes != 0 || g.Holder != "" {
				t.Errorf("grant %+v", g)
			}
			if all := c.events(blackboard.EventRequeue); len(all) != 1 || all[0].Reason != "cub is stopping" {
				t.Errorf("ledger %+v", all)
			}
			if all, err := c.board.Roster.Running(c.ctx); err != nil || len(all) > 0 {
				t.Errorf("running %v, error %v", all, err)
			}
			r.letToolEnd()
			c.start("worker", vars{env.Command: shell(waiting), env.Workspace: r.dir})
			if g := c.await(claim, "worker", blackboard.GrantDone); g.Attempt != 2 {
				t.Errorf("grant %+v", g)
			}
		})
	}
}

// A cub that is stopping and waits for its tool still hears that the work was
// cancelled, and still counts as alive.
func TestCancelledWhileStopping(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell(waiting), env.Grace: "1m"})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	pid := r.awaitTool()
	r.stop()
	r.log.await(t, "stopping: the running tool may finish")
	if agents, err := c.board.Roster.Agents(c.ctx); err != nil || agents["worker"].Alive.IsZero() {
		t.Errorf("presence %+v, error %v", agents["worker"], err)
	}
	c.terminate(claim, "test", nil)
	must(t, r.end())
	if !dead(pid) {
		t.Error("the tool still runs")
	}
}

// A cancelled grant ends its tool, and lets go of the workspace; the cub goes on.
func TestCancelledGrant(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell(waiting)})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	pid := r.awaitTool()
	c.terminate(claim, "test", nil)
	until(t, "the tool is gone", func() bool { return dead(pid) })
	if g := c.await(claim, "worker", blackboard.GrantCancelled); g.ResultID != "" {
		t.Errorf("grant %+v", g)
	}
	r.letToolEnd()
	c.await(c.work("worker", blackboard.PhaseExclusive, "next"), "worker", blackboard.GrantDone)
}

// A result that comes too late is refused, and the cub goes on.
func TestLateResult(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell(waiting)})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	r.awaitTool()
	c.do("HDEL", key("claim:"+claim), "grant:worker") // as if somebody had taken it, without a notice
	r.letToolEnd()
	r.log.await(t, "result refused: the grant is gone, or belongs to another holder", "claim", claim)
	c.await(c.work("worker", blackboard.PhaseExclusive, "next"), "worker", blackboard.GrantDone)
}

// Work that is handed back again and again fails in the end, also when nobody but
// its tool stops the cub.
func TestHandedBackTooOften(t *testing.T) {
	onBoth(t, func(c *clan) {
		claim := c.work("worker", blackboard.PhaseExclusive, "goal")
		var next string // which a cub that is stopping leaves alone
		for n := range mostHandedBack + 1 {
			r := c.start("worker", vars{env.Command: shell("echo partial >&2; trap '' TERM; " + waiting), env.Grace: "1ms"})
			r.awaitTool()
			if n == mostHandedBack {
				next = c.work("worker", blackboard.PhaseExclusive, "next")
			}
			r.stop()
			must(c.t, r.end())
			if g := c.await(claim, "worker", blackboard.GrantQueued, blackboard.GrantFailed); n < mostHandedBack && g.Attempt != n+2 {
				c.t.Fatalf("grant %+v", g)
			}
		}
		a, report := c.failure(claim, "worker")
		if a.Type != blackboard.TypeAgentCrashed || report.Attempt != mostHandedBack+1 || report.Stderr != "partial\n" ||
			!strings.Contains(report.Reason, "cub is stopping for the 11th time") {
			c.t.Errorf("%s %+v", a.Type, report)
		}
		if g := c.await(next, "worker", blackboard.GrantQueued); g.Attempt != 1 {
			c.t.Errorf("grant %+v", g)
		}
	})
}
