package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
)

// TestWriterKilledMidWrite kills a writer with half its work in its tree: the next attempt
// has a clean one, what was there is kept in the store, and nobody waits for it.
func TestWriterKilledMidWrite(t *testing.T) {
	t.Parallel()
	for _, strategy := range []string{"reuse", "fresh_per_call"} {
		t.Run(strategy, func(t *testing.T) { t.Parallel(); killWriter(t, strategy) })
	}
}

func killWriter(t *testing.T, strategy string) {
	dir, more := marks(t)
	write := `
git status --porcelain --ignored >"$MARKS/found-$SETT_CLAIM_ID-$me-$SETT_ATTEMPT"
if [ "$SETT_TARGET_PAYLOAD-$me-$SETT_ATTEMPT" = x-one-1 ]; then
	echo half >half.txt; echo changed >>sett.yml; git add half.txt; touch .git/index.lock
	echo $$ >"$MARKS/tool"; sleep 1000
fi
echo "$me" >"$me.txt"; git add "$me.txt"
git -c user.name=W -c user.email=w@example.org commit -q --allow-empty -m "by $me"
say Terminal CodeCommit "$(git rev-parse HEAD)"`
	rw := more + "workspace: {mode: rw}\nretries: 1\nstrategy: " + strategy + "\n"
	in := start(t, options{clan: clan{agents: []agent{
		{name: "one", bids: "GoalDefined: exclusive", tool: write, more: rw},
		{name: "two", bids: "GoalDefined: claim", tool: write, more: rw},
	}}})
	in.killAndWait(t, dir, strategy)
}

// killAndWait is the test proper: agent two works for the second goal while one hangs for
// the first, and one, killed, is tried again.
func (in *instance) killAndWait(t *testing.T, dir, strategy string) {
	t.Helper()
	first := in.post("x")
	tool := marked(t, filepath.Join(dir, "tool"))
	second := in.post("y")
	in.grantIs(blackboard.BiddingClaimID(second), "two", blackboard.GrantDone)
	unit := "agent-one"
	if strategy == "fresh_per_call" {
		unit = in.workers()[0]
	}
	in.kill(unit)
	in.await(first, enough)
	in.await(second, enough)
	if !gone(tool) {
		t.Error("the tool lives")
	}
	if g := in.grant(first, "one"); g.Attempt != 2 || g.Crashes != 1 || in.status(first) != blackboard.WorkflowAchieved {
		t.Errorf("the killed writer's grant: %+v, goal %s", g, in.status(first))
	}
	if in.status(second) != blackboard.WorkflowAchieved {
		t.Errorf("second goal: %s", in.status(second))
	}
	found, _ := filepath.Glob(filepath.Join(dir, "found-*"))
	for _, f := range found {
		if text, err := os.ReadFile(f); err != nil || len(text) > 0 {
			t.Errorf("%s found in the tree: %s %v", filepath.Base(f), text, err)
		}
	}
	refs := strings.Fields(in.stored("for-each-ref", "--format=%(refname)", "refs/sett/leftovers/"))
	if len(refs) != 1 {
		t.Fatalf("leftovers: %v", refs)
	}
	if out := in.stored("show", refs[0]+":half.txt"); out != "half\n" {
		t.Errorf("leftovers hold %q", out)
	}
	in.atRest()
}
