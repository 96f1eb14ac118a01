package e2e

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
)

// complicated is the most complex workflow of the source documents. A writer
// commits; two review, one of them rejects the first version; of two in parallel
// one asks a person; one works exclusively; an agent with three replicas makes a
// piece of each of the three results, one of which fails at first; each piece is
// packed into a Terminal.
func complicated() clan {
	return clan{agents: []agent{
		{name: "writer", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\n", tool: `
echo "version for $SETT_TARGET_TYPE" >built.txt
case $in in *'"structural_type":"Review"'*) echo "and heeded" >>built.txt ;; esac
git add built.txt >&2
git -c user.name=W -c user.email=w@example.org commit -q -m "Build it: $SETT_TARGET_TYPE v$SETT_TARGET_VERSION" >&2
say Standard CodeCommit "$(git rev-parse HEAD)"`},
		{name: "lint", bids: "CodeCommit: review", tool: `
if [ "$SETT_TARGET_VERSION" = 1 ]; then say Review Review "too long"; else say Review Review "{}"; fi`},
		{name: "audit", bids: "CodeCommit: review", tool: `say Review Review "{}"`},
		{name: "tester", bids: "CodeCommit: claim", tool: `
case $in in
*'"structural_type":"Answer"'*) say Standard Part tests ;;
*) say Question Ask "Which platforms?" ;;
esac`},
		{name: "documenter", bids: "CodeCommit: claim", tool: `say Standard Part docs`},
		{name: "planner", bids: "CodeCommit: exclusive", tool: `say Standard Part plan`},
		{name: "maker", bids: "Part: exclusive", more: "strategy: fresh_per_call\nreplicas: 3\n", tool: `
if [ "$SETT_TARGET_PAYLOAD" = docs ] && ! [ -e "$gates/paper" ]; then echo "out of paper" >&2; exit 3; fi
until [ -e "$gates/leave" ]; do sleep 0.05; done
say Standard Piece "a piece of $SETT_TARGET_PAYLOAD"`},
		{name: "packer", bids: "Piece: exclusive", tool: `say Terminal Package "$SETT_TARGET_PAYLOAD, packed"`},
	}}
}

// TestMostComplexWorkflow sees it through with nothing but commands, in both
// runtimes.
func TestMostComplexWorkflow(t *testing.T) {
	t.Parallel()
	t.Run("processes", func(t *testing.T) { t.Parallel(); seeComplicated(t, options{clan: complicated()}) })
	t.Run("containers", func(t *testing.T) { t.Parallel(); needEngine(t); seeComplicated(t, inContainers(complicated())) })
}

func seeComplicated(t *testing.T, o options) {
	in := start(t, o)
	ctx := context.Background()
	code, out := in.sett("forage", "--goal", "Build it", "--wait=60s")
	if code != 5 || !strings.Contains(out, "Which platforms?") || !strings.Contains(out, "sett answer") {
		t.Fatalf("forage --wait ended with %d:\n%s", code, out)
	}
	question := in.openQuestion()
	goal := in.goals()[0]
	answer := strings.TrimSpace(strings.Split(in.must("--quiet", "answer", question, "Linux", "and", "macOS"), "\n")[0])
	in.makersAt(goal, 2)

	failure := in.failureOf(goal)
	if !strings.Contains(in.must("show", failure), "out of paper") {
		t.Error("the Failure does not say why")
	}
	in.gate("paper")
	in.must("retry", failure, "there is paper again")
	in.makersAt(goal, 3)
	in.allow("")
	in.must("wait", goal, "--timeout", enough.String())

	w, err := in.board.Records.Workflow(ctx, goal)
	if err != nil || w.Status != blackboard.WorkflowAchieved || w.Terminals != 3 || w.Failures != 0 {
		t.Errorf("workflow %+v %v", w, err)
	}
	if n := in.atOnce("maker"); n != 3 {
		t.Errorf("%d makers at once, want 3", n)
	}
	in.checkComplicated(goal, answer)
	if log := in.stored("log", "--topo-order", "--format=%s", "--glob=refs/sett/artefacts/*"); log != "Build it: CodeCommit v1\nBuild it: GoalDefined v1\nbegin\n" {
		t.Errorf("history:\n%s", log)
	}
	if left := in.git("status", "--porcelain") + in.git("log", "--format=%s"); left != "begin\n" {
		t.Errorf("left in the person's repository:\n%s", left)
	}
	for _, args := range [][]string{{"why", w.TerminalID}, {"graph", goal}, {"ledger", "export", goal}, {"goals"}, {"list", "-v"}} {
		in.must(args...)
	}
	in.settled()
	in.atRest()
}

// openQuestion returns the id of the one question that is open, as the command
// prints it.
func (in *instance) openQuestion() string {
	in.t.Helper()
	var all struct {
		Questions []struct {
			ID string `json:"id"`
		} `json:"questions"`
	}
	out := in.must("--quiet", "questions", "-o", "json")
	if err := json.Unmarshal([]byte(out), &all); err != nil || len(all.Questions) != 1 {
		in.t.Fatalf("questions: %v\n%s", err, out)
	}
	return all.Questions[0].ID
}

// makersAt waits until so many makers work for a goal.
func (in *instance) makersAt(goal string, want int) {
	in.t.Helper()
	eventually(in.t, enough, "makers at work", func() bool {
		claims, err := in.board.Index.WorkflowClaims(context.Background(), goal)
		working := 0
		for _, id := range claims {
			if g, err := in.board.Records.Grant(context.Background(), id, "maker"); err == nil && g.State == blackboard.GrantRunning {
				working++
			}
		}
		return err == nil && working == want
	})
}

// failureOf returns the id of a goal's Failure, which it waits for.
func (in *instance) failureOf(goal string) (id string) {
	in.t.Helper()
	eventually(in.t, enough, "a Failure", func() bool {
		w, err := in.board.Records.Workflow(context.Background(), goal)
		id = w.FailureID
		return err == nil && id != ""
	})
	return id
}

// checkComplicated looks at what became of each part of the workflow.
func (in *instance) checkComplicated(goal, answer string) {
	in.t.Helper()
	all, err := in.board.Records.ListArtefacts(context.Background(), blackboard.Filter{Workflow: goal})
	if err != nil {
		in.t.Fatal(err)
	}
	counts := map[string]int{}
	for _, a := range all {
		counts[a.Type]++
		switch {
		case a.Type == "Part" && a.Payload == "tests" && !slices.Contains(a.SourceArtefacts, answer):
			in.t.Errorf("the tester's result does not name the Answer %s: %v", answer, a.SourceArtefacts)
		case a.Type == "Package" && !slices.Contains(a.SourceArtefacts, goal):
			in.t.Errorf("a Terminal does not name the goal: %v", a.SourceArtefacts)
		case a.Type == "CodeCommit" && a.Version == 2 && len(a.SourceArtefacts) != 2:
			in.t.Errorf("the rework names %v", a.SourceArtefacts)
		}
	}
	for kind, want := range map[string]int{
		"CodeCommit": 2, "Review": 4, "Ask": 1, "Answer": 1, "Part": 3, "Piece": 3, "Package": 3, blackboard.TypeToolExecutionFailure: 1,
	} {
		if counts[kind] != want {
			in.t.Errorf("%d of type %s, want %d", counts[kind], kind, want)
		}
	}
}
