package cub

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
)

// warm starts a worker of the agent "worker" on standby, and waits until it waits.
func (c *clan) warm(incarnation string, more vars) *running {
	c.t.Helper()
	all := vars{env.Strategy: "fresh_per_call", env.Incarnation: incarnation}
	for name, value := range more {
		all[name] = value
	}
	r := c.start("worker", all, "--standby")
	r.log.await(c.t, "waiting for a claim")
	return r
}

func (c *clan) assign(incarnation, claim string) {
	c.t.Helper()
	must(c.t, c.board.Leader.Assign(c.ctx, c.lead.Epoch, "worker", incarnation, claim, 1))
}

func (c *clan) worker(incarnation string) blackboard.Worker {
	c.t.Helper()
	all, err := c.board.Roster.Workers(c.ctx, "worker")
	must(c.t, err)
	return all[incarnation]
}

// A worker on standby counts as waiting only when it is registered; it does the
// claim that it is assigned, no other, and is gone. It leaves its entry to the
// orchestrator.
func TestStandby(t *testing.T) {
	onBoth(t, func(c *clan) {
		queued, claim := c.work("worker", blackboard.PhaseExclusive, "first"), c.work("worker", blackboard.PhaseReview, "second")
		r, other := c.warm("w1", vars{env.Command: says(`{"structural_type":"Review","payload":"{}"}`)}), c.warm("w2", nil)
		if w := c.worker("w1"); w.Claim != "" || w.Alive.IsZero() {
			c.t.Errorf("registered as %+v", w)
		}
		began := time.Now()
		c.assign("w1", claim)
		must(c.t, r.end())
		if took := time.Since(began); took > tick-time.Second {
			c.t.Errorf("it took %s: nobody told the worker", took)
		}
		if g := c.await(claim, "worker", blackboard.GrantDone); g.Holder != "w1" || g.Verdict != blackboard.Approve {
			c.t.Errorf("grant %+v", g)
		}
		if w := c.worker("w1"); w.Claim != claim || w.Attempt != 1 {
			c.t.Errorf("afterwards %+v", w)
		}
		if g := c.await(queued, "worker", blackboard.GrantQueued); g.Attempt != 1 {
			c.t.Errorf("grant %+v", g)
		}
		agents, err := c.board.Roster.Agents(c.ctx)
		if err != nil || len(agents) > 0 {
			c.t.Errorf("a worker is not the agent: %+v %v", agents, err)
		}
		other.stop() // the first signal while it waits
		must(c.t, other.end())
	})
}

// A worker that was started for its claim registers as well, with the grant's
// attempt.
func TestExecuteOnlyRegisters(t *testing.T) {
	onBoth(t, func(c *clan) {
		claim := c.work("worker", blackboard.PhaseExclusive, "goal")
		r := c.start("worker", vars{env.Strategy: "fresh_per_call", env.Incarnation: "w1", env.Command: shell(waiting)}, "--execute-claim", claim)
		r.awaitTool()
		until(c.t, "it is registered", func() bool { return c.worker("w1").Claim != "" })
		if w := c.worker("w1"); w.Claim != claim || w.Attempt != 1 {
			c.t.Errorf("registered as %+v", w)
		}
		r.letToolEnd()
		must(c.t, r.end())
	})
}

// What was assigned is found without a notice: on the tick, and when the
// blackboard is back, which may have forgotten that the worker was there.
func TestAssignmentWithoutNotice(t *testing.T) {
	t.Parallel()
	t.Run("tick", func(t *testing.T) {
		t.Parallel()
		c := redisClan(t)
		r := c.warm("w1", nil)
		claim := c.work("worker", blackboard.PhaseExclusive, "goal")
		c.do("HSET", key("agent:worker:workers"), "w1", "1 "+claim+" 1") // as Assign does it, without a notice
		must(t, r.end())
		c.await(claim, "worker", blackboard.GrantDone)
	})
	t.Run("reconnect", func(t *testing.T) {
		t.Parallel()
		c := redisClan(t)
		r := c.warm("w1", vars{env.RedisRetries: "1"})
		claim := c.work("worker", blackboard.PhaseExclusive, "goal")
		c.do("CLIENT", "KILL", "TYPE", "pubsub")
		c.do("HSET", key("agent:worker:workers"), "w1", "1 "+claim+" 1")
		began := time.Now()
		must(t, r.end())
		if took := time.Since(began); took > tick-time.Second {
			t.Errorf("it took %s", took)
		}
		c.await(claim, "worker", blackboard.GrantDone)
	})
	t.Run("forgotten", func(t *testing.T) {
		t.Parallel()
		c := redisClan(t) // in memory only
		r := c.warm("w1", vars{env.RedisRetries: "1"})
		c.server.Kill()
		r.log.await(t, "blackboard lost, reconnecting")
		c.server.Restart()
		began := time.Now()
		until(t, "it is registered again", func() bool { return !c.worker("w1").Alive.IsZero() })
		if took := time.Since(began); took > beatEvery-time.Second {
			t.Errorf("it took %s", took)
		}
	})
}

// An assignment may come to nothing: the claim was cancelled, or somebody else
// was faster. The worker is gone then.
func TestAssignedTooLate(t *testing.T) {
	t.Parallel()
	for name, before := range map[string]func(c *clan, claim string){
		"cancelled": func(c *clan, claim string) { c.terminate(claim, "test", nil) },
		"taken": func(c *clan, claim string) {
			_, err := c.board.Cub.Start(c.ctx, blackboard.StartRequest{Claim: claim, Agent: "worker", Holder: "other"})
			must(c.t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClan(t)
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			must(t, c.board.Cub.HelloWorker(c.ctx, "worker", blackboard.Worker{Incarnation: "w1"}, time.Minute))
			c.assign("w1", claim) // to a worker that is slow to hear of it
			before(c, claim)
			r := c.start("worker", vars{env.Incarnation: "w1"}, "--standby")
			must(t, r.end())
			r.log.await(t, "nothing to execute", "claim", claim)
		})
	}
}

// A worker that dies between its assignment and its start leaves the grant in the
// queue; the next one that is assigned it does it. So does one that a new leader
// repeats the assignment for, once.
func TestAssignedWorkerDies(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	must(t, c.board.Cub.HelloWorker(c.ctx, "worker", blackboard.Worker{Incarnation: "dead"}, time.Minute))
	c.assign("dead", claim)
	must(t, c.board.Leader.ForgetWorker(c.ctx, "worker", "dead"))
	r := c.warm("w2", vars{env.Command: shell("echo ran >>runs; " + waiting)})
	c.assign("w2", claim)
	r.awaitTool()
	must(t, c.board.Leader.RenewLead(c.ctx, c.lead, 0))
	lead, _, err := c.board.Leader.TakeLead(c.ctx, "next", "", time.Hour)
	must(t, err)
	c.lead = lead
	c.assign("w2", claim)
	r.letToolEnd()
	must(t, r.end())
	if g := c.await(claim, "worker", blackboard.GrantDone); g.Holder != "w2" || g.Attempt != 1 {
		t.Errorf("grant %+v", g)
	}
	if runs, err := os.ReadFile(filepath.Join(r.dir, "runs")); err != nil || string(runs) != "ran\n" {
		t.Errorf("the tool ran: %q %v", runs, err)
	}
}

// A waiting worker gives up on a blackboard that stays away, as others do.
func TestStandbyGivesUp(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.warm("w1", vars{env.RedisRetries: "1", env.RedisGiveUp: "200ms"})
	c.server.Kill()
	if err := r.end(); role.CodeOf(err) != role.Environment {
		t.Errorf("exit code %d, error %v", role.CodeOf(err), err)
	}
}

// A cancelled grant ends the tool of a warm worker too, also when the notice of it
// was lost.
func TestStandbyCancelled(t *testing.T) {
	t.Parallel()
	for _, lost := range []bool{false, true} {
		c := redisClan(t)
		r := c.warm("w1", vars{env.Command: shell(waiting)})
		claim := c.work("worker", blackboard.PhaseExclusive, "goal")
		c.assign("w1", claim)
		pid := r.awaitTool()
		if lost {
			c.do("CLIENT", "KILL", "TYPE", "pubsub")
		}
		c.terminate(claim, "test", nil)
		must(t, r.end())
		if !dead(pid) {
			t.Errorf("notice lost: %v: the tool still runs", lost)
		}
	}
}

// Who cannot hear of an assignment does not count as waiting for one.
func TestDeafWorkerDoesNotRegister(t *testing.T) {
	t.Parallel()
	c := redisClan(t)
	c.do("ACL", "SETUSER", "cub", "on", ">"+password, "~*", "&*", "+@all", "-subscribe")
	r := c.start("worker", vars{env.Incarnation: "w1", env.RedisURL: "redis://cub:" + password + "@" + c.server.Addr()}, "--standby")
	until(t, "it has tried to subscribe", func() bool { return len(r.log.find(t, "no notices: the open work is read at every tick")) > 2 })
	if w := c.worker("w1"); !w.Alive.IsZero() {
		t.Errorf("registered as %+v", w)
	}
	c.do("ACL", "SETUSER", "cub", "+subscribe")
	r.log.await(t, "waiting for a claim")
	if w := c.worker("w1"); w.Alive.IsZero() {
		t.Error("not registered")
	}
}
