package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/view"
)

var update = flag.Bool("update", false, "rewrite golden files")

// golden compares a text with a file under testdata, or rewrites it.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update rewrites it. Got:\n%s", path, got)
	}
}

// Each line of testdata/events.jsonl is an event and the artefact it is about, if
// that is read for it; the golden file says how people read them.
func TestDescribe(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "events.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	seen := map[blackboard.EventKind]bool{}
	for line := range strings.Lines(string(text)) {
		var in struct {
			blackboard.Event
			About *blackboard.Artefact `json:"about"`
		}
		if err := json.Unmarshal([]byte(line), &in); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		seen[in.Kind] = true
		l := view.Describe(in.Event, in.About)
		fmt.Fprintf(&got, "%-9s  %-12s  %-3s  %s\n", l.Kind, l.Agent, term.Of(l.As), l.What)
	}
	golden(t, "events.golden", got.String())
	for _, k := range []blackboard.EventKind{
		blackboard.EventGoal, blackboard.EventOpen, blackboard.EventRefuse, blackboard.EventBid, blackboard.EventGrant, blackboard.EventWait,
		blackboard.EventStart, blackboard.EventResult, blackboard.EventRequeue, blackboard.EventAnswer, blackboard.EventComplete,
		blackboard.EventTerminate, blackboard.EventRestore, blackboard.EventAgent, blackboard.EventLeader, blackboard.EventInstance,
		blackboard.EventPolicy, blackboard.EventApprove, blackboard.EventReject, blackboard.EventReview, blackboard.EventCancel, blackboard.EventRetry, blackboard.EventImport,
		blackboard.EventRecount, blackboard.EventOverrun, blackboard.EventSettled,
		blackboard.EventCall, blackboard.EventBudget, blackboard.EventModels, blackboard.EventLand, blackboard.EventClock,
	} {
		if !seen[k] {
			t.Errorf("no event of kind %s in testdata/events.jsonl", k)
		}
	}
}
