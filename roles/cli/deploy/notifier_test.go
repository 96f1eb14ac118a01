package deploy

import (
	"slices"
	"strings"
	"testing"

	"sett/contract/config"
	"sett/runtime"
)

func notifying(command string) *config.Config {
	return &config.Config{Runtime: config.RuntimeProcess, Notify: &config.Notify{Command: []string{command}}}
}

// A command that cannot be run is warned of at the start.
func TestNotifierThatCannotRun(t *testing.T) {
	missing := MissingTools(notifying("./nowhere"), t.TempDir())
	if len(missing) != 1 || !strings.Contains(missing[0].Text, "notify: ./nowhere cannot be run: ") || !strings.Contains(missing[0].Text, "no such file") {
		t.Errorf("missing %q", missing)
	}
	if missing := MissingTools(notifying("sh"), t.TempDir()); len(missing) != 0 {
		t.Errorf("missing %q", missing)
	}
}

// A bid script that cannot be run fails no goal: the agent bids ignore, or its claims wait.
func TestBidScriptThatCannotRun(t *testing.T) {
	for required, want := range map[bool]string{false: "it bids ignore on every claim", true: "every claim will wait for its bid"} {
		c := &config.Config{Runtime: config.RuntimeProcess, Agents: []config.Agent{{Name: "one", Command: []string{"sh"}, BidScript: []string{"./nowhere"}, BidsRequired: required}}}
		if missing := MissingTools(c, t.TempDir()); len(missing) != 1 || !strings.HasSuffix(missing[0].Text, "; "+want) {
			t.Errorf("required %v: %q", required, missing)
		}
	}
}

// It is stopped with the agents: before the orchestrator, which would start it
// again, unless that is stopped first for want of a word to it.
func TestNotifierIsStoppedWithAgents(t *testing.T) {
	for _, told := range []bool{true, false} {
		for _, components := range stopOrder(told) {
			if slices.Contains(components, runtime.ComponentNotifier) != slices.Contains(components, runtime.ComponentAgent) {
				t.Errorf("told %v: %v", told, components)
			}
		}
	}
}
