package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/contract/tool"
)

// writers is the number of agents that write for one goal at once.
const writers = 8

// eight is a clan whose writers each make a piece of a goal, all at once, and whose joiner
// works on the merge of the pieces. A writer says in its tree that it has begun, and goes on when it is
// let go. Of the goal "conflict" the last two write the same file; the later one reworks it with both.
func eight() clan {
	var c clan
	for i := range writers {
		c.agents = append(c.agents, agent{name: fmt.Sprintf("w%d", i), bids: "GoalDefined: claim", more: "workspace: {mode: rw}\n", tool: reworks + `
file=$me; if [ $SETT_TARGET_PAYLOAD = conflict ]; then case $me in w6 | w7) file=both ;; esac; fi
touch "begun-$SETT_TARGET_PAYLOAD"
until [ -e "$gates/leave-$SETT_TARGET_PAYLOAD" ]; do sleep 0.02; done
echo "$me" >"$file"; git add "$file"; git commit -q -m "piece of $me"
say Standard Piece "$me" | sed 's/}$/,"commit":"'"$(git rev-parse HEAD)"'"}/'`})
	}
	c.agents = append(c.agents, agent{name: "joiner", bids: "GoalDefined: exclusive", more: "workspace: {mode: rw}\n", tool: `
printf %s "$in" >stdin.json; git add -A; git commit -q -m join
say Terminal CodeCommit "$(git rev-parse HEAD)"`})
	return c
}

// TestEightWriters: eight agents write for one goal at the same time, each in its own tree.
// None waits for another, no commit is lost, and the exclusive agent starts from their merge. Where
// two conflict it waits until the later one has both.
func TestEightWriters(t *testing.T) {
	t.Parallel()
	for name, docker := range map[string]bool{"processes": false, "containers": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options{clan: eight()}
			if docker {
				needEngine(t)
				o = inContainers(o.clan)
			}
			in := start(t, o)
			if lacks := in.writeTogether("fine"); len(lacks) > 0 {
				t.Errorf("without a conflict the joiner's tree lacks %+v", lacks)
			}
			if lacks := in.writeTogether("conflict"); len(lacks) > 0 {
				t.Errorf("after a conflict the joiner's tree lacks %+v", lacks)
			}
			in.hasBoth("w6", "w7")
			in.settled()
			in.atRest()
		})
	}
}

// writeTogether sees a goal of eight through, and returns the commits that the joiner's
// stdin names as unmerged. It lets no writer go before all are at work.
func (in *instance) writeTogether(payload string) (lacks []tool.Unmerged) {
	t := in.t
	t.Helper()
	goal := in.post(payload)
	eventually(t, enough, "all writers to work at once", func() bool {
		for i := range writers {
			begun := filepath.Join(in.stateDir(), "trees", fmt.Sprintf("w%d", i), "tree", "begun-"+payload)
			if _, err := os.Stat(begun); err != nil {
				return false
			}
		}
		return true
	})
	in.allow(payload)
	in.await(goal, enough)
	w, err := in.board.Records.Workflow(context.Background(), goal)
	if err != nil || w.Status != blackboard.WorkflowAchieved {
		t.Fatalf("the goal: %+v %v", w, err)
	}
	end, err := in.board.Records.Artefact(context.Background(), w.TerminalID)
	if err != nil {
		t.Fatal(err)
	}
	result := end.CommitHash()
	var stdin tool.Input
	if err := json.Unmarshal([]byte(in.stored("show", result+":stdin.json")), &stdin); err != nil || stdin.Workspace == nil {
		t.Fatalf("the joiner read %+v, %v", stdin.Workspace, err)
	}
	lacks = stdin.Workspace.Unmerged
	has := strings.Split(in.stored("log", "--format=%s", result), "\n")
	pieces := 0
	all, err := in.artefacts(goal)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Type != "Piece" {
			continue
		}
		pieces++
		in.stored("cat-file", "-e", "refs/sett/artefacts/"+a.ID+"^{commit}")
		lacked := slices.ContainsFunc(lacks, func(u tool.Unmerged) bool { return u.ArtefactID == a.ID && u.Commit == a.CommitHash() })
		if merged := slices.Contains(has, "piece of "+a.Payload); merged == lacked {
			t.Errorf("%s's piece %s: merged %t, named as unmerged %t", a.Payload, a.ID, merged, lacked)
		}
	}
	if want := writers + len(in.conflicts(goal)); pieces != want || payload == "fine" && want != writers || payload != "fine" && want == writers {
		t.Errorf("%d pieces, want %d", pieces, want)
	}
	return lacks
}
