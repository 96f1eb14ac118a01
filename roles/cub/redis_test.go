package cub

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
)

// A result that is due while Redis is away is held, and written when it is back.
func TestRedisRestartsWhileAToolRuns(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.Command: shell(waiting), env.RedisRetries: "1"})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	r.awaitTool()
	c.server.Kill()
	r.letToolEnd()
	r.log.await(t, "blackboard away, waiting")
	c.server.Restart()
	if a := c.result(claim, "worker"); a.Payload != "done" {
		t.Errorf("got %+v", a)
	}
	// Idle it comes back as well, and reads what it was not told.
	c.server.Kill()
	r.log.await(t, "blackboard lost, reconnecting")
	c.server.Restart()
	next := c.work("worker", blackboard.PhaseExclusive, "next")
	unbid := c.open(c.goal("bid").ID, "worker")
	c.await(next, "worker", blackboard.GrantDone)
	c.awaitBid(unbid, "worker")
}

// A result that the server refuses for want of replicas is held like one that finds no
// server, and written when they are back.
func TestResultWaitsForReplicas(t *testing.T) {
	t.Parallel()
	c := redisClan(t)
	r := c.start("worker", vars{env.Command: shell(waiting), env.RedisRetries: "1"})
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	r.awaitTool()
	c.demandReplicas("1")
	r.letToolEnd()
	r.log.await(t, "blackboard away, waiting")
	c.demandReplicas("0")
	if a := c.result(claim, "worker"); a.StructuralType != blackboard.Standard || a.Payload != "done" {
		t.Errorf("got %+v", a)
	}
}

// A result that is due while the server refuses the cub's user is held, and written when the password is right
// again, the user is on again, or may call scripts again.
func TestResultWaitsForRights(t *testing.T) {
	t.Parallel()
	for name, rules := range map[string][2][]string{
		"password": {{"resetpass", ">other"}, {">" + password}}, "off": {{"off"}, {"on"}}, "scripts": {{"-evalsha", "-eval"}, {"+evalsha", "+eval"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := redisClan(t).in(t)
			c.do("ACL", "SETUSER", "cub", "on", ">"+password, "~*", "&*", "+@all")
			r := c.start("worker", vars{env.Command: shell(waiting), env.RedisRetries: "1", env.RedisURL: "redis://cub:" + password + "@" + c.server.Addr()})
			claim := c.work("worker", blackboard.PhaseExclusive, "goal")
			r.awaitTool()
			c.do(append([]string{"ACL", "SETUSER", "cub"}, rules[0]...)...)
			c.do("CLIENT", "KILL", "USER", "cub")
			r.letToolEnd()
			r.log.await(t, "blackboard away, waiting")
			c.do(append([]string{"ACL", "SETUSER", "cub"}, rules[1]...)...)
			if a := c.result(claim, "worker"); a.StructuralType != blackboard.Standard || a.Payload != "done" {
				t.Errorf("got %+v", a)
			}
		})
	}
}

// A cub that may neither publish nor listen finds its work by its looks.
func TestCubWithoutChannels(t *testing.T) {
	t.Parallel()
	c := redisClan(t)
	c.do("ACL", "SETUSER", "cub", "on", ">"+password, "~*", "+@all", "resetchannels")
	r := c.start("worker", vars{env.Command: says(good), env.RedisURL: "redis://cub:" + password + "@" + c.server.Addr()})
	r.log.await(t, "no notices: the open work is read at every tick")
	claim := c.open(c.goal("bid").ID, "worker")
	c.awaitBid(claim, "worker")
	c.await(c.work("worker", blackboard.PhaseExclusive, "goal"), "worker", blackboard.GrantDone)
}

// demandReplicas has the server refuse to write with fewer replicas.
func (c *clan) demandReplicas(n string) {
	c.t.Helper()
	client := c.board.Conn().Client
	must(c.t, client.Do(c.ctx, client.B().ConfigSet().ParameterValue().ParameterValue("min-replicas-to-write", n).Build()).Error())
}

// After give_up without Redis the process ends with exit code 7, also when it
// holds a result.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]bool{"idle": false, "with a result in hand": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClan(t)
			r := c.start("worker", vars{env.Command: shell(waiting), env.RedisRetries: "1", env.RedisGiveUp: "200ms"})
			r.log.await(t, "cub started")
			if busy {
				c.work("worker", blackboard.PhaseExclusive, "goal")
				r.awaitTool()
			}
			c.server.Kill()
			r.letToolEnd()
			err := r.end()
			if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), "unreachable for ") ||
				!strings.Contains(err.Error(), c.server.Addr()) {
				t.Errorf("exit code %d, error %v", role.CodeOf(err), err)
			}
		})
	}
}

// /healthz follows Redis.
func TestHealth(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.HealthAddr: "127.0.0.1:0"})
	url := "http://" + r.log.await(t, "cub started").text("health") + "/healthz"
	healthy := func(status int) {
		t.Helper()
		until(t, "/healthz says "+http.StatusText(status), func() bool {
			client := http.Client{Timeout: 5 * time.Second}
			res, err := client.Get(url)
			must(t, err)
			must(t, res.Body.Close())
			return res.StatusCode == status
		})
	}
	healthy(http.StatusOK)
	c.server.Kill()
	healthy(http.StatusServiceUnavailable)
	c.server.Restart()
	healthy(http.StatusOK)
}
