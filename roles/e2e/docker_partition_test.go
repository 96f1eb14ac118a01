package e2e

import (
	"context"
	"testing"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// TestDockerPartitions freezes containers and cuts them off the network. Those that
// come back soon go on as if nothing had been; those that do not are taken for hung
// and replaced, whatever they are, and all goals end as they should.
func TestDockerPartitions(t *testing.T) {
	t.Parallel()
	tool := waits + `say Standard Draft "by $me"`
	in := start(t, inContainers(clan{agents: []agent{
		{name: "frozen", bids: "GoalDefined: claim", tool: tool, more: "retries: 1\n"},
		{name: "cut", bids: "GoalDefined: claim", tool: tool, more: "retries: 1\n"},
		{name: "solo", bids: "GoalDefined: exclusive", tool: tool, more: "strategy: fresh_per_call\nretries: 1\n"},
		{name: "last", bids: "Draft: exclusive", tool: finished},
	}}))
	net := "sett-" + in.name
	// For a moment.
	goal := in.post("a")
	in.began(goal, "frozen")
	in.began(goal, "cut")
	in.docker("pause", in.container("agent-frozen"))
	in.docker("network", "disconnect", net, in.container("agent-cut"))
	in.allow("a")
	in.docker("network", "connect", net, in.container("agent-cut"))
	in.docker("unpause", in.container("agent-frozen"))
	in.ended(goal, map[string]int{"frozen": 1, "cut": 1, "solo": 1})

	// For good: two agents, and then the worker of a third.
	goal = in.post("b")
	in.began(goal, "frozen")
	in.began(goal, "cut")
	in.docker("pause", in.container("agent-frozen"))
	in.docker("network", "disconnect", net, in.container("agent-cut"))
	began := time.Now()
	in.retried(goal, "frozen")
	in.retried(goal, "cut")
	in.allow("b")
	t.Logf("replaced after %s", time.Since(began).Round(time.Second))
	in.ended(goal, map[string]int{"frozen": 2, "cut": 2, "solo": 1})
	in.settled()
	in.atRest()
}

// TestDockerWorkerFrozen freezes a worker at work, and one that waits: both are
// replaced.
func TestDockerWorkerFrozen(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(solo(waits+finished, "strategy: fresh_per_call\nretries: 1\nreplicas: 2\nwarm: 1\n")))
	in.warm("solo")
	goal := in.post("a")
	in.began(goal, "solo")
	for _, unit := range in.workers() { // the one that works, and the one that waits
		in.docker("pause", in.container(unit))
	}
	in.retried(goal, "solo")
	in.allow("")
	in.ended(goal, map[string]int{"solo": 2})
	eventually(t, enough, "a standby that is well", func() bool {
		units, err := in.at.List(context.Background(), runtime.Labels{runtime.LabelComponent: runtime.ComponentWorker})
		return err == nil && len(units) == 1 && units[0].Running && !units[0].Paused
	})
	in.warm("solo")
	in.atRest()
}

// retried waits until silence has cost an agent its first attempt.
func (in *instance) retried(goal, agent string) {
	in.t.Helper()
	eventually(in.t, 4*time.Minute, "second attempt of "+agent, func() bool {
		g := in.grant(goal, agent)
		return g.Attempt == 2 && g.State == blackboard.GrantRunning
	})
}

// ended waits for a goal that is achieved, and checks how often each agent tried.
func (in *instance) ended(goal string, attempts map[string]int) {
	in.t.Helper()
	in.await(goal, 4*time.Minute)
	if in.status(goal) != blackboard.WorkflowAchieved {
		in.t.Errorf("goal %s: %s", goal, in.status(goal))
	}
	for agent, n := range attempts {
		if g := in.grant(goal, agent); g.Attempt != n || g.Crashes > n-1 { // a cub that wakes up in time hands its grant back
			in.t.Errorf("%s: %+v", agent, g)
		}
	}
}
