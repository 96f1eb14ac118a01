package cli

import (
	"testing"

	"sett/blackboard"
)

func TestHumansOnly(t *testing.T) {
	claim := func(states ...blackboard.GrantState) blackboard.Snapshot {
		var c blackboard.Snapshot
		for _, s := range states {
			c.Grants = append(c.Grants, blackboard.Grant{State: s})
		}
		return c
	}
	const asks, done = blackboard.GrantAwaitingAnswer, blackboard.GrantDone
	for name, tc := range map[string]struct {
		outstanding int
		open        []blackboard.Snapshot
		want        bool
	}{
		"nothing open":                  {1, nil, false},
		"a question":                    {1, []blackboard.Snapshot{claim(asks)}, true},
		"a question beside results":     {1, []blackboard.Snapshot{claim(done, asks)}, true},
		"two claims with questions":     {2, []blackboard.Snapshot{claim(asks), claim(asks, asks)}, true},
		"an artefact without its claim": {2, []blackboard.Snapshot{claim(asks)}, false},
		"a claim that is bid for":       {2, []blackboard.Snapshot{claim(asks), claim()}, false},
		"a claim to be decided":         {2, []blackboard.Snapshot{claim(asks), claim(done)}, false},
		"another works":                 {1, []blackboard.Snapshot{claim(asks, blackboard.GrantRunning)}, false},
		"another will work":             {1, []blackboard.Snapshot{claim(asks, blackboard.GrantQueued)}, false},
		"another failed":                {1, []blackboard.Snapshot{claim(asks, blackboard.GrantFailed)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := blackboard.Workflow{Status: blackboard.WorkflowActive, Outstanding: tc.outstanding}
			if got := humansOnly(w, tc.open); got != tc.want {
				t.Errorf("got %v", got)
			}
			w.Status = blackboard.WorkflowFailed
			if humansOnly(w, tc.open) {
				t.Error("a workflow that has ended waits for somebody")
			}
		})
	}
}
