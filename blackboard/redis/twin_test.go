package redis

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sett/blackboard"
	"sett/blackboard/redis/lua"
)

// Patterns fit in Lua as they do in Go.
func TestLuaFits(t *testing.T) {
	b, err := os.ReadFile("../testdata/match.txt")
	must(t, err)
	source := lua.Link("return fits(cjson.decode(ARGV[1])[1], ARGV[2]) and 'yes' or 'no'")
	onTwo(t, func(t *testing.T, s *server) {
		w := newWorld(t, s)
		for line := range strings.Lines(string(b)) {
			words := strings.Fields(line)
			if words[0] == "#" {
				continue
			}
			pattern, kind := words[0], strings.Trim(words[1], "-")
			for _, want := range []string{words[2], map[bool]string{true: "yes", false: "no"}[blackboard.Match(pattern, kind)]} {
				if got := w.raw("EVAL", source, "1", w.b.c.Keys.Events(), between([]string{pattern}), kind)[0]; got != want {
					t.Errorf("%q fits %q: %s, want %s", kind, pattern, got, want)
				}
			}
		}
	})
}

// Every status and state that the scripts write or compare is one that Go knows.
func TestLuaStatuses(t *testing.T) {
	known := map[string]bool{}
	for _, s := range blackboard.ClaimStatuses {
		known[string(s)] = true
	}
	for _, s := range []blackboard.WorkflowStatus{blackboard.WorkflowActive, blackboard.WorkflowAchieved, blackboard.WorkflowFailed, blackboard.WorkflowStalled} {
		known[string(s)] = true
	}
	for _, s := range []blackboard.GrantState{blackboard.GrantQueued, blackboard.GrantRunning, blackboard.GrantAwaitingAnswer, blackboard.GrantDone, blackboard.GrantFailed, blackboard.GrantCancelled} {
		known[string(s)] = true
	}
	for _, s := range []blackboard.InstanceState{blackboard.InstanceRunning, blackboard.InstanceStopping} {
		known[string(s)] = true
	}
	for _, s := range []blackboard.LandingState{blackboard.LandingQueued, blackboard.LandingVerifying, blackboard.LandingMoving, blackboard.LandingNone} {
		known[string(s)] = true
	}
	files, err := filepath.Glob("lua/*.lua")
	must(t, err)
	word, seen := regexp.MustCompile(`\b(?:status|state)'?\]? *(?:==|~=|=) *'([a-z_]+)'`), 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		for _, m := range word.FindAllStringSubmatch(string(b), -1) {
			if seen++; !known[m[1]] {
				t.Errorf("%s: no status or state %q", file, m[1])
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d statuses and states", seen)
	}
}
