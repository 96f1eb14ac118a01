package e2e

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// slotted changes its tree, waits for leave, and tells its place: what is in its tree by
// then is its own.
const slotted = `
echo "$SETT_TARGET_PAYLOAD" >own.txt
` + waits + `
[ "$(ls *.txt)" = own.txt ] && [ "$(cat own.txt)" = "$SETT_TARGET_PAYLOAD" ] && [ "$PWD" = "$SETT_WORKSPACE" ]
printf '{"structural_type":"Standard","artefact_type":"Done","artefact_payload":"%s %s %s","summary":"","commit":"changes"}' "$SETT_SLOT" "$SETT_SLOTS" "$PWD"`

// reads has a look at a result in a tree of its own, by git too.
const reads = `
git log --oneline -1 >&2 && [ -z "$(git status --porcelain)" ]
say Terminal Read "$(cat own.txt) $SETT_SLOTS $PWD $(git rev-parse HEAD)"`

// TestSeveralGrantsInOneAgent has one agent work on eight goals at once, and disturbs it:
// each grant ends by its own count of deaths, a ninth goal waits for a slot by name, and
// every tool has a tree of its own.
func TestSeveralGrantsInOneAgent(t *testing.T) {
	t.Parallel()
	c := solo(slotted, "concurrency: 8\nretries: 1\nstop_grace_period: 1s\nworkspace: {mode: rw}\n")
	c.agents = append(c.agents, agent{name: "reader", bids: "Done: exclusive", tool: reads, more: "concurrency: 2\n"})
	t.Run("processes", func(t *testing.T) { t.Parallel(); severalGrants(t, options{clan: c}) })
	t.Run("containers", func(t *testing.T) { t.Parallel(); needEngine(t); severalGrants(t, inContainers(c)) })
}

func severalGrants(t *testing.T, o options) {
	t.Helper()
	in := start(t, o)
	in.settled()
	post := func(what string, n int) (goals []string) {
		for i := range n {
			goals = append(goals, in.post(fmt.Sprint(what, i)))
		}
		return goals
	}
	running := func(what string, goals []string, attempt int) {
		t.Helper()
		eventually(t, enough, what, func() bool {
			if len(in.working(goals)) != len(goals) {
				return false
			}
			return !slices.ContainsFunc(goals, func(goal string) bool { return in.grant(goal, "solo").Attempt != attempt })
		})
	}
	old := post("old", 4)
	running("four at work", old, 1)
	in.bounce("agent-solo")
	running("second attempts", old, 2)
	young := post("young", 4)
	running("four more at work", young, 1)
	ninth := post("ninth", 1)
	waiting{in}.listed(ninth[0], "slot", "solo", "solo has no free slot for claim ")
	if out := in.must("list", "-v"); !strings.Contains(out, "8 of 8 running") {
		t.Errorf("list -v says\n%s", out)
	}
	if out := in.must("why", blackboard.BiddingClaimID(ninth[0])); !strings.Contains(out, "solo queued") {
		t.Errorf("why says\n%s", out)
	}
	in.bounce("agent-solo")
	for _, goal := range old {
		in.await(goal, enough)
		if a, report := in.failure(goal); a.Type != blackboard.TypeAgentCrashed || report.Attempt != 2 {
			t.Errorf("failure: %s %+v", a.Type, report)
		}
	}
	young = append(young, ninth[0])
	running("second attempts, and the ninth", young[:4], 2)
	running("the ninth", ninth, 1)
	in.must("restart", "solo")
	running("third attempts", young[:4], 3)
	running("the ninth again", ninth, 2)
	in.must("down")
	in.up()
	running("after down and up", young[:4], 4)
	in.must("cancel", ninth[0], "not needed")
	if got := in.working(young); len(got) != 4 {
		t.Errorf("%d at work after one was cancelled", len(got))
	}
	in.allow("")
	slots := map[string]bool{}
	for i, goal := range young[:4] {
		in.await(goal, enough)
		var done, read blackboard.Artefact
		for _, a := range in.artefactsOf(goal) {
			switch a.Type {
			case "Done":
				done = a
			case "Read":
				read = a
			}
		}
		seen := strings.Fields(read.Payload)
		if len(seen) != 4 || seen[0] != fmt.Sprint("young", i) || seen[1] != "2" || seen[3] != done.Commit || o.docker && path.Dir(seen[2]) != "/workspace" {
			t.Errorf("read: %q", read.Payload)
		}
		said := strings.Fields(done.Payload)
		if in.status(goal) != blackboard.WorkflowAchieved || len(said) != 3 || said[1] != "8" || slots[said[0]] {
			t.Errorf("goal %s: %q", in.status(goal), done.Payload)
			continue
		}
		slots[said[0]] = true
		if o.docker && said[2] != path.Join("/workspace", said[0]) || !o.docker && !strings.HasSuffix(said[2], "/solo.slot-"+said[0]+"/tree") {
			t.Errorf("slot %s is at %s", said[0], said[2])
		}
		if got := in.stored("show", done.Commit+":own.txt"); got != fmt.Sprintf("young%d\n", i) {
			t.Errorf("the commit has %q", got)
		}
	}
	in.settled()
	in.atRest()
}
