package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"sett/blackboard"
)

// TestCrashBetweenStartAndResult kills cubs without retries between `running` and
// result: exactly one Failure says so, and the claim is terminated. At the edges
// of that window nothing is lost.
func TestCrashBetweenStartAndResult(t *testing.T) {
	t.Parallel()
	c := reviewed(drafter, "")
	g := newGround(t, c)
	for _, at := range []struct {
		agent, script string
		when          moment
		fails         bool
		claim         string // whose claim is terminated
	}{
		{"writer", "start", before, false, ""},
		{"writer", "start", after, true, "GoalDefined"},
		{"r2", "start", after, true, "Draft"},
		{"p1", "finish", before, true, "Draft"},
		{"pack", "finish", before, true, "Draft"},
		{"pack", "finish", after, false, ""},
	} {
		t.Run(at.agent+" "+string(at.when)+" "+at.script, func(t *testing.T) {
			g.settled()
			g.proxy.arm(&trap{client: "cub-" + at.agent, script: at.script, n: 1, when: at.when, kill: func() { g.shoot("agent-" + at.agent) }})
			goal := g.post("x")
			g.await(goal, enough)
			if !g.proxy.disarm() {
				t.Fatal("it did not die")
			}
			if !at.fails {
				if got := g.outcome(goal); got != g.want {
					t.Errorf("ended otherwise:\n%s", diff(g.want, got))
				}
				return
			}
			g.failedOnce(t, goal, at.agent, at.claim)
		})
	}
	g.settled()
	g.atRest()
}

// failedOnce checks that a goal failed because an agent died, with one Failure
// and one terminated claim, on an artefact of the type.
func (g *ground) failedOnce(t *testing.T, goal, agent, on string) {
	t.Helper()
	ctx := context.Background()
	failures, err := g.board.Records.ListArtefacts(ctx, blackboard.Filter{Workflow: goal})
	if err != nil {
		t.Fatal(err)
	}
	var reports []blackboard.FailureReport
	for _, a := range failures {
		if a.StructuralType != blackboard.Failure {
			continue
		}
		var r blackboard.FailureReport
		if err := json.Unmarshal([]byte(a.Payload), &r); err != nil || a.Type != blackboard.TypeAgentCrashed {
			t.Errorf("failure %s: type %s, payload %q: %v", a.ID, a.Type, a.Payload, err)
		}
		reports = append(reports, r)
	}
	if len(reports) != 1 || reports[0].Agent != agent || !strings.Contains(reports[0].Reason, "died") {
		t.Errorf("failures: %+v, want one of %s", reports, agent)
	}
	ids, err := g.board.Index.WorkflowClaims(ctx, goal)
	if err != nil {
		t.Fatal(err)
	}
	claims, err := g.board.Records.Claims(ctx, ids)
	if err != nil {
		t.Fatal(err)
	}
	last := claims[len(claims)-1]
	for _, c := range claims {
		if c.Target.Type == on && c.Origin == blackboard.OriginArtefact {
			last = c
			if c.Status == blackboard.Terminated && !strings.Contains(c.Reason, "feedback") {
				break
			}
		}
	}
	if last.Status != blackboard.Terminated {
		t.Errorf("claim on %s is %s: %s", on, last.Status, last.Reason)
	}
	if w, err := g.board.Records.Workflow(ctx, goal); err != nil || w.Status != blackboard.WorkflowFailed || w.Failures != 1 {
		t.Errorf("workflow: %+v %v", w, err)
	}
}
