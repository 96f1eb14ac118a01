package e2e

import (
	"context"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// deathNoticed is how long it may take from a container's death to the Failure.
const deathNoticed = 2 * time.Second

// TestDockerAgentKilled kills agents while their tools run: at once there is a new
// attempt where sett.yml allows one, and else a Failure that holds what was said last.
func TestDockerAgentKilled(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(clan{agents: []agent{
		{name: "twice", bids: "GoalDefined: exclusive", tool: waits + `say Standard Draft "attempt $SETT_ATTEMPT"`, more: "retries: 1\n"},
		{name: "once", bids: "Draft: exclusive", tool: `echo "parting words" >&2; sleep 1000`},
	}}))
	goal := in.post("x")
	in.began(goal, "twice")
	in.logged("agent-twice", "last words of x")
	in.kill("agent-twice")
	in.allow("")
	draft := ""
	eventually(t, enough, "a draft by the second attempt", func() bool {
		all, err := in.artefacts(goal)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range all {
			if a.Type == "Draft" && a.Payload == "attempt 2" {
				draft = a.ID
			}
		}
		return draft != ""
	})
	in.began(draft, "once")
	in.logged("agent-once", "parting words")
	began := time.Now()
	in.kill("agent-once")
	in.await(goal, 10*time.Second)
	took := time.Since(began)
	began = time.Now()
	in.docker("version")
	slow := 5 * time.Since(began) // of a busy engine
	t.Logf("a Failure %s after the death", took.Round(time.Millisecond))
	a, report := in.failure(goal)
	if a.Type != blackboard.TypeAgentCrashed || !strings.Contains(report.Reason, "killed") || !strings.Contains(report.Stderr, "parting words") || took > deathNoticed+slow {
		t.Errorf("failure: %s %+v", a.Type, report)
	}
	in.settled()
	in.atRest()
}

// hoards leaves its cub with much to report, and fills what belongs to no process
// that could be killed for it.
const hoards = `
tr '\0' x </dev/zero | head -c 9000000
dd if=/dev/zero of=/tmp/x bs=64k || true
dd if=/dev/zero of=/dev/shm/x bs=64k || true
exit 3`

// TestDockerOutOfMemory has tools use more than their agents may: one is killed for
// it, and its Failure says so; of a check its child is, which is no verdict; the other fills what no process can be killed for,
// and its container lives on.
func TestDockerOutOfMemory(t *testing.T) {
	t.Parallel()
	const limit = "resources: {limits: {memory: 64m}}\n"
	in := start(t, inContainers(clan{agents: []agent{
		{name: "greedy", bids: "GoalDefined: claim", more: limit, tool: `tail /dev/zero`},
		{name: "last", bids: "GoalDefined: exclusive", tool: finished},
	}}))
	goal := in.post("x")
	in.await(goal, enough)
	a, report := in.failure(goal)
	if a.Type != blackboard.TypeToolExecutionFailure || !strings.Contains(report.Reason, "memory") {
		t.Errorf("a tool out of memory: %s %+v", a.Type, report)
	}
	child := start(t, inContainers(clan{agents: []agent{
		{name: "builder", bids: "GoalDefined: review", more: limit + "adapter: check\n", tool: `tail /dev/zero || exit 1`},
	}}))
	goal = child.post("x")
	child.await(goal, enough)
	if a, report = child.failure(goal); !strings.HasPrefix(report.Reason, "out of memory: a process of the tool was killed; tool ended with exit code 1") {
		t.Errorf("a check whose child was out of memory: %s %+v", a.Type, report)
	}
	child.settled()
	child.atRest()
	whole := start(t, inContainers(clan{agents: []agent{
		{name: "hoarder", bids: "GoalDefined: exclusive", more: limit, tool: hoards},
	}}))
	before := whole.pid("agent-hoarder")
	for range 2 { // the second finds what the first has left
		goal = whole.post("x")
		whole.await(goal, enough)
		a, report = whole.failure(goal)
		ended := report.ExitCode == 3 || strings.Contains(report.Reason, "memory")
		if a.Type != blackboard.TypeToolExecutionFailure || !ended || report.StdoutSize != 9000000 {
			t.Errorf("a tool that hoards: %s: %s, exit code %d, %d bytes", a.Type, report.Reason, report.ExitCode, report.StdoutSize)
		}
	}
	if after := whole.pid("agent-hoarder"); after != before {
		t.Errorf("its container ended")
	}
	whole.settled()
	whole.atRest()
	in.settled()
	in.atRest()
}

// TestDockerOrchestratorKilled kills the orchestrator while workers are at work:
// the engine starts it again, and it adopts them and starts none twice.
func TestDockerOrchestratorKilled(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(solo(waits+finished, "strategy: fresh_per_call\nreplicas: 2\nwarm: 1\n")))
	var goals []string
	for _, name := range []string{"a", "b", "c", "d"} {
		goals = append(goals, in.post(name))
	}
	before := ""
	eventually(t, enough, "two at work", func() bool {
		before = in.busy()
		return len(in.working(goals)) == 2 && strings.Count(before, " ") == 1
	})
	for range 2 {
		in.bounce("orchestrator")
		in.settled()
	}
	if after := in.busy(); after != before {
		t.Errorf("at work were %s, are %s", before, after)
	}
	in.docker("rm", "--force", in.container("orchestrator"))
	in.up()
	if after := in.busy(); after != before {
		t.Errorf("at work were %s, are %s", before, after)
	}
	in.allow("")
	for _, goal := range goals {
		in.await(goal, enough)
		if g := in.grant(goal, "solo"); g.Attempt != 1 || in.status(goal) != blackboard.WorkflowAchieved {
			t.Errorf("%s: %s %+v", goal, in.status(goal), g)
		}
		for grant, n := range in.starts(goal) {
			if n != 1 {
				t.Errorf("%s began %d times", grant, n)
			}
		}
	}
	if n := in.atOnce("solo"); n != 2 {
		t.Errorf("%d worked at once, want 2", n)
	}
	in.atRest()
}

// busy names the units of agent solo that work on a claim.
func (in *instance) busy() string {
	in.t.Helper()
	known, err := in.board.Roster.Workers(context.Background(), "solo")
	if err != nil {
		in.t.Fatal(err)
	}
	units, err := in.at.List(context.Background(), runtime.Labels{runtime.LabelComponent: runtime.ComponentWorker})
	if err != nil {
		in.t.Fatal(err)
	}
	var busy []string
	for _, u := range units {
		if u.Running && known[u.Labels[runtime.LabelIncarnation]].Claim != "" {
			busy = append(busy, u.Name)
		}
	}
	return strings.Join(busy, " ")
}

// TestDockerBlackboardKilled kills Redis in the middle of goals, in the ways that
// there are: it comes back by itself, and nothing is lost.
func TestDockerBlackboardKilled(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(reviewed(drafter, "retries: 1\n")))
	goal := in.post("x")
	in.await(goal, enough)
	want := in.outcome(goal)
	box := in.container("blackboard")
	for i, how := range []func(){
		func() { in.kill("blackboard") },
		func() { in.docker("kill", box) },
		func() { in.docker("restart", "--time", "0", box) },
		func() { in.docker("pause", box); in.docker("unpause", box) },
		func() {
			in.docker("network", "disconnect", "sett-"+in.name, box)
			in.docker("network", "connect", "--alias", "sett-"+in.name+"-redis", "sett-"+in.name, box)
		},
	} {
		in.settled()
		goal := in.post("x")
		in.afterEntries(goal, 5+9*i)
		how()
		back := time.Now()
		in.await(goal, enough)
		t.Logf("way %d: the goal ended %s later", i, time.Since(back).Round(time.Millisecond))
		if got := in.outcome(goal); got != want {
			t.Errorf("way %d, and it ended otherwise:\n%s", i, diff(want, got))
		}
	}
	in.settled()
	in.atRest()
}

// TestDockerUnitsKilled kills or removes what is not at work, or is what others
// depend on: an agent, a standby, an anchor. All of it is there again.
func TestDockerUnitsKilled(t *testing.T) {
	t.Parallel()
	c := solo(waits+finished, "strategy: fresh_per_call\nreplicas: 2\nwarm: 1\nretries: 1\n")
	c.agents = append(c.agents, agent{name: "idle", bids: "GoalDefined: ignore", tool: finished})
	in := start(t, inContainers(c))
	in.warm("solo")
	in.kill(in.workers()[0])
	in.docker("rm", "--force", in.container("agent-idle"))
	in.settled()
	in.warm("solo")
	in.docker("rm", "--force", in.container("agent-solo"))
	in.settled()
	in.warm("solo")
	goal := in.post("x")
	in.began(goal, "solo")
	in.kill("net-full-solo")
	eventually(t, enough, "a second attempt", func() bool {
		g := in.grant(goal, "solo")
		return g.Attempt == 2 && g.State == blackboard.GrantRunning
	})
	in.allow("")
	in.await(goal, enough)
	if g := in.grant(goal, "solo"); g.Crashes != 1 || in.status(goal) != blackboard.WorkflowAchieved {
		t.Errorf("the worker without a network: %s %+v", in.status(goal), g)
	}
	in.settled()
	in.warm("solo")
	in.atRest()
}

// TestDockerAllStopped stops or kills all containers in the middle of a goal, as the
// end of an engine or a machine does: sett up brings the instance back to where it
// was.
func TestDockerAllStopped(t *testing.T) {
	t.Parallel()
	in := start(t, inContainers(reviewed(drafter, "retries: 1\n")))
	goal := in.post("x")
	in.await(goal, enough)
	want := in.outcome(goal)
	for i, how := range [][]string{{"stop", "--time", "0"}, {"kill"}} {
		in.settled()
		goal := in.post("x")
		in.afterEntries(goal, 8+12*i)
		all := in.docker("ps", "--quiet", "--filter", "label="+runtime.LabelInstance+"="+in.name)
		// What the orchestrator starts meanwhile is no more than what had been left out.
		_, _ = dockerSays(append(how, strings.Fields(all)...)...)
		in.up()
		in.await(goal, enough)
		if got := in.outcome(goal); got != want {
			t.Errorf("docker %s of all, and it ended otherwise:\n%s", how[0], diff(want, got))
		}
	}
	in.settled()
	in.atRest()
}
