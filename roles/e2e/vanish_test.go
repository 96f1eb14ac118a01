package e2e

import (
	"testing"

	"sett/blackboard"
)

// TestToolRemovesItsDirectory has tools remove their own working directories, one with a tree and one
// without, in local mode: the next grants work, and the agents can be restarted.
func TestToolRemovesItsDirectory(t *testing.T) {
	t.Parallel()
	removes := `case $SETT_TARGET_PAYLOAD in *$me*) rm -r "$SETT_WORKSPACE" ;; esac
`
	in := start(t, options{clan: clan{agents: []agent{
		{name: "writer", bids: "GoalDefined: claim", more: "workspace: {mode: rw}\n", tool: "me=writer\n" + removes +
			`[ ! -d "$SETT_WORKSPACE" ] || echo more >more
printf '{"structural_type":"Standard","artefact_type":"Made","artefact_payload":"p","summary":"","commit":"changes"}'`},
		{name: "closer", bids: "GoalDefined: exclusive", more: "workspace: {mode: none}\n", tool: "me=closer\nsay Terminal Done done\n" + removes},
	}}})
	in.settled()
	end := func(text string, want blackboard.WorkflowStatus) {
		t.Helper()
		goal := in.post(text)
		in.await(goal, enough)
		if got := in.status(goal); got != want {
			t.Errorf("%s: %s, not %s", text, got, want)
		}
	}
	for range 2 {
		end("writer removes its tree", blackboard.WorkflowFailed)
		end("closer removes its directory", blackboard.WorkflowAchieved)
		in.must("restart", "writer")
		in.must("restart", "closer")
		end("go on", blackboard.WorkflowAchieved)
	}
}
