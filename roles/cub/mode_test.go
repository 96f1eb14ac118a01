package cub

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/role"
)

// A cub in bidder-only mode bids and never executes; a worker executes its one
// claim, none other, and is done.
func TestBidderAndWorkers(t *testing.T) {
	onBoth(t, func(c *clan) {
		fresh := vars{env.Strategy: "fresh_per_call"}
		bidder := c.start("worker", fresh)
		first, second := c.open(c.goal("first").ID, "worker"), c.open(c.goal("second").ID, "worker")
		for _, claim := range []string{first, second} {
			c.awaitBid(claim, "worker")
			c.grant(claim, blackboard.PhaseExclusive, "worker")
		}
		worker := c.start("worker", fresh, "--execute-claim", second)
		must(c.t, worker.end())
		if a := c.result(second, "worker"); a.Payload != "done" {
			c.t.Errorf("got %+v", a)
		}
		c.awaitBid(c.open(c.goal("third").ID, "worker"), "worker") // so it has read the notices before
		if g := c.await(first, "worker", blackboard.GrantQueued); g.Attempt != 1 {
			c.t.Errorf("grant %+v", g)
		}
		agents, err := c.board.Roster.Agents(c.ctx)
		must(c.t, err)
		if p := agents["worker"]; p.Mode != "bidder-only" || p.Alive.IsZero() || p.Version != "test" {
			c.t.Errorf("presence %+v", p)
		}
		if found := bidder.log.find(c.t, "work received"); len(found) > 0 {
			c.t.Errorf("the bidder worked: %v", found)
		}
		// Too late, or for the wrong claim: nothing to do is no failure.
		for _, claim := range []string{second, newID()} {
			late := c.start("worker", fresh, "--execute-claim", claim)
			must(c.t, late.end())
			late.log.await(c.t, "nothing to execute", "claim", claim)
		}
		bidder.stop()
		must(c.t, bidder.end())
		agents, err = c.board.Roster.Agents(c.ctx)
		must(c.t, err)
		if p := agents["worker"]; !p.Alive.IsZero() {
			c.t.Errorf("it has left, and is still alive: %+v", p)
		}
	})
}

// What a cub is started with and cannot be right ends the start with exit code 2,
// and names the variable and what it should look like.
func TestBrokenStarts(t *testing.T) {
	t.Parallel()
	const wantCommand = `want a JSON array such as ["/app/run.sh"]`
	for name, tc := range map[string]struct {
		change vars
		args   []string
		says   []string
	}{
		"no instance":     {change: vars{env.Instance: ""}, says: []string{"SETT_INSTANCE_NAME is not set"}},
		"odd instance":    {change: vars{env.Instance: "Not/Valid"}, says: []string{"SETT_INSTANCE_NAME", "a valid instance name"}},
		"no agent":        {change: vars{env.Agent: ""}, says: []string{"SETT_AGENT_NAME is not set"}},
		"no Redis":        {change: vars{env.RedisURL: ""}, says: []string{"REDIS_URL is not set", "redis://:password@host:6379/0"}},
		"no command":      {change: vars{env.Command: ""}, says: []string{"SETT_AGENT_COMMAND is not set", wantCommand}},
		"command no JSON": {change: vars{env.Command: "/app/run.sh"}, says: []string{"SETT_AGENT_COMMAND", wantCommand}},
		"command empty":   {change: vars{env.Command: "[]"}, says: []string{"SETT_AGENT_COMMAND", wantCommand}},
		"command blank":   {change: vars{env.Command: `[""]`}, says: []string{"SETT_AGENT_COMMAND", wantCommand}},
		"bids":            {change: vars{env.Bids: "{"}, says: []string{"SETT_AGENT_BIDS", `[{"type":"Code*","bid":"review"}]`}},
		"bid script":      {change: vars{env.BidScript: "x"}, says: []string{"SETT_AGENT_BID_SCRIPT", wantCommand}},
		"timeout":         {change: vars{env.Timeout: "5"}, says: []string{"SETT_AGENT_TIMEOUT", "a positive duration such as 5m"}},
		"grace":           {change: vars{env.Grace: "-1s"}, says: []string{"SETT_STOP_GRACE_PERIOD", "a positive duration"}},
		"strategy":        {change: vars{env.Strategy: "new"}, says: []string{"SETT_AGENT_STRATEGY", "reuse or fresh_per_call"}},
		"workspace mode":  {change: vars{env.WorkspaceMode: "x"}, says: []string{"SETT_WORKSPACE_MODE", "none, ro or rw"}},
		"no repository":   {change: vars{env.WorkspaceMode: "rw"}, says: []string{"SETT_REPOSITORY_URL is not set", "http://127.0.0.1:7070", "SETT_REPOSITORY_TOKEN is not set"}},
		"role":            {change: vars{env.Role: "user"}, says: []string{"SETT_AGENT_ROLE", "a role other than"}},
		"retries":         {change: vars{env.RedisRetries: "many"}, says: []string{"SETT_REDIS_RETRIES", "such as 5"}},
		"two at once":     {change: vars{env.Agent: "", env.Timeout: "x"}, says: []string{"SETT_AGENT_NAME", "SETT_AGENT_TIMEOUT"}},
		"arguments":       {args: []string{"--execute"}, says: []string{"unknown arguments", "--execute"}},
		"two modes":       {args: []string{"--standby", "--execute-claim", "x"}, says: []string{"unknown arguments"}},
		"empty claim":     {args: []string{"--execute-claim", ""}, says: []string{"unknown arguments"}},
	} {
		t.Run(name, func(t *testing.T) {
			all := environment(t, "redis://127.0.0.1:1", "worker", tc.change)
			err := Run(context.Background(), world(all, io.Discard, tc.args...))
			if role.CodeOf(err) != role.Usage {
				t.Fatalf("exit code %d, error %v", role.CodeOf(err), err)
			}
			for _, part := range tc.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q does not say %q", err, part)
				}
			}
		})
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	e := world(nil, io.Discard, "--help")
	e.Stdout = &out
	must(t, Run(context.Background(), e))
	for _, name := range []string{env.Instance, env.Agent, env.RedisURL, env.Command, env.Timeout, env.BidScript} {
		if !strings.Contains(out.String(), name) {
			t.Errorf("the help does not mention %s", name)
		}
	}
}

// Without Redis the start ends after its retries, with the address.
func TestDeadRedisAtStart(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	addr := l.Addr().String()
	must(t, l.Close())
	all := environment(t, "redis://:secret@"+addr, "worker", vars{env.RedisRetries: "2"})
	began := time.Now()
	err = Run(context.Background(), world(all, io.Discard))
	if role.CodeOf(err) != role.Environment || !strings.Contains(err.Error(), addr) || strings.Contains(err.Error(), "secret") {
		t.Errorf("exit code %d, error %v", role.CodeOf(err), err)
	}
	var e *role.Error
	if !errors.As(err, &e) || !strings.Contains(e.Hint, "REDIS_URL") {
		t.Errorf("the hint is missing in %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

// A port that is taken ends the start, and says which variable to change.
func TestHealthPortTaken(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	r := c.start("worker", vars{env.HealthAddr: c.server.Addr()})
	err := r.end()
	var e *role.Error
	if role.CodeOf(err) != role.Environment || !errors.As(err, &e) || !strings.Contains(e.Hint, env.HealthAddr) {
		t.Errorf("exit code %d, error %v", role.CodeOf(err), err)
	}
}

// An instance that is being stopped gives out no work; what is queued stays so.
func TestInstanceIsStopping(t *testing.T) {
	t.Parallel()
	c := newClan(t)
	claim := c.work("worker", blackboard.PhaseExclusive, "goal")
	must(t, c.board.SetInstance(c.ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: "test"}))
	r := c.start("worker", vars{env.Command: shell("touch ran")})
	r.log.await(t, "instance is stopping: left in the queue", "claim", claim)
	r.stop()
	must(t, r.end())
	c.await(claim, "worker", blackboard.GrantQueued)
	if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
		t.Error("the tool was run")
	}
}
