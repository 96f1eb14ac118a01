package blackboard

import "testing"

func TestOnlyPeople(t *testing.T) {
	const waits GrantState = "waits for a conflict"
	claim := func(states ...GrantState) Snapshot {
		var c Snapshot
		for _, s := range states {
			g := Grant{State: s}
			if s == waits {
				g = Grant{State: GrantQueued, Conflict: "k"}
			}
			c.Grants = append(c.Grants, g)
		}
		return c
	}
	const asks, done = GrantAwaitingAnswer, GrantDone
	for name, tc := range map[string]struct {
		outstanding int
		open        []Snapshot
		want        bool
		gates       int
	}{
		"nothing open":                  {1, nil, false, 0},
		"a question":                    {1, []Snapshot{claim(asks)}, true, 0},
		"a question beside results":     {1, []Snapshot{claim(done, asks)}, true, 0},
		"two claims with questions":     {2, []Snapshot{claim(asks), claim(asks, asks)}, true, 0},
		"an artefact without its claim": {2, []Snapshot{claim(asks)}, false, 0},
		"a claim that is bid for":       {2, []Snapshot{claim(asks), claim()}, false, 0},
		"a claim to be decided":         {2, []Snapshot{claim(asks), claim(done)}, false, 0},
		"another works":                 {1, []Snapshot{claim(asks, GrantRunning)}, false, 0},
		"another will work":             {1, []Snapshot{claim(asks, GrantQueued)}, false, 0},
		"a gate":                        {1, nil, true, 1},
		"a gate beside a question":      {2, []Snapshot{claim(asks)}, true, 1},
		"a gate beside a claim":         {2, []Snapshot{claim()}, false, 1},
		"a gate beside an artefact":     {2, nil, false, 1},
		"another failed":                {1, []Snapshot{claim(asks, GrantFailed)}, false, 0},
		"a conflict":                    {1, []Snapshot{claim(waits)}, false, 0},
		"a conflict beside a question":  {2, []Snapshot{claim(waits, done), claim(asks)}, true, 0},
		"a conflict and a question":     {1, []Snapshot{claim(waits, asks)}, true, 0},
		"a conflict beside work":        {3, []Snapshot{claim(waits), claim(asks), claim(GrantRunning)}, false, 0},
		"a conflict, and another works": {2, []Snapshot{claim(waits, GrantRunning), claim(asks)}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := Workflow{Status: WorkflowActive, Outstanding: tc.outstanding, Suspended: tc.gates}
			for _, c := range tc.open {
				if c.Suspended() {
					w.Suspended++
				}
				if c.Blocked() {
					w.Blocked++
				}
			}
			if got := w.OnlyPeople(); got != tc.want {
				t.Errorf("got %v", got)
			}
			w.Status = WorkflowFailed
			if w.OnlyPeople() {
				t.Error("a workflow that has ended waits for somebody")
			}
		})
	}
}
