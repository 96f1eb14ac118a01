package e2e

import (
	"context"
	"strings"
	"testing"

	"sett/blackboard"
)

// TestAskedAtTheReviewLimit lets a review loop come to its limit: a person is
// asked, and the rework goes on with the answer in its context. Asked again, it
// goes on again.
func TestAskedAtTheReviewLimit(t *testing.T) {
	t.Parallel()
	for name, docker := range map[string]bool{"processes": false, "containers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if docker {
				needEngine(t)
			}
			in := start(t, options{docker: docker, clan: clan{
				extra: "orchestrator: {max_review_iterations: 1, on_review_limit: ask}\n",
				agents: []agent{
					{name: "writer", bids: "GoalDefined: exclusive", tool: `
case $in in
*'"payload":"shorter, please"'*) say Standard Draft short ;;
*'"payload":"try again"'*) say Standard Draft "longer still" ;;
*) say Standard Draft long ;;
esac`},
					{name: "lint", bids: "Draft: review", tool: `
case $SETT_TARGET_PAYLOAD in short) say Review Review "{}" ;; *) say Review Review "too long" ;; esac`},
					{name: "pack", bids: "Draft: exclusive", tool: finished},
				},
			}})
			for i, answer := range []string{"try again", "shorter, please"} {
				code, out := 0, ""
				if i == 0 {
					code, out = in.sett("forage", "--goal", "write", "--wait=60s")
				} else {
					code, out = in.sett("wait", "@last", "--timeout", enough.String())
				}
				if code != 5 || !strings.Contains(out, "max_review_iterations") {
					t.Fatalf("%d: ended with %d:\n%s", i, code, out)
				}
				in.must("answer", in.openQuestion(), answer)
			}
			in.must("wait", "@last", "--timeout", enough.String())
			goal := in.goals()[0]
			all, err := in.artefacts(goal)
			if err != nil {
				t.Fatal(err)
			}
			last := 0
			for _, a := range all {
				if a.Type == "Draft" {
					last = max(last, a.Version)
				}
				if a.StructuralType == blackboard.Question && a.ProducedByRole != blackboard.RoleOrchestrator {
					t.Errorf("%s asks", a.ProducedByRole)
				}
			}
			if last != 4 {
				t.Errorf("approved at version %d, want 4", last)
			}
			in.settled()
			in.atRest()
		})
	}
}

// TestNobodyAnswers lets a question time out, through a restart of who would notice:
// the goal fails, and when it is tried again somebody is there.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	c := solo(`case $in in *'"structural_type":"Answer"'*) say Terminal Done done ;; *) say Question Ask "anybody?" ;; esac`, "")
	c.extra = "orchestrator: {question_timeout: 6s}\n"
	in := start(t, options{clan: c})
	goal := in.post("x")
	question := in.waiting(in.board.Index.OpenQuestions)
	in.kill("orchestrator")
	in.await(goal, enough)
	failure := in.failureOf(goal)
	if f, err := in.board.Records.Artefact(context.Background(), failure); err != nil || f.Type != blackboard.TypeQuestionTimeout {
		t.Errorf("%+v %v", f, err)
	}
	if code, out := in.sett("answer", question, "too late"); code != 1 || !strings.Contains(out, "question_timeout") {
		t.Errorf("a late answer ended with %d:\n%s", code, out)
	}
	in.must("retry", failure)
	in.must("answer", in.waiting(in.board.Index.OpenQuestions), "here")
	in.must("wait", goal, "--timeout", enough.String())
	in.settled()
	in.atRest()
}
