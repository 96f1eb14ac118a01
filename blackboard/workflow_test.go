package blackboard

import (
	"testing"
	"time"
)

func TestOnlyPeople(t *testing.T) {
	const waits, paused GrantState = "waits for a conflict", "waits for its model"
	claim := func(states ...GrantState) Snapshot {
		var c Snapshot
		for _, s := range states {
			g := Grant{State: s}
			if s == waits {
				g = Grant{State: GrantQueued, Conflict: "k"}
			}
			if s == paused {
				g = Grant{State: GrantRunning, WaitsFor: "model", WaitsSince: time.UnixMilli(1)}
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
		"a model":                       {1, []Snapshot{claim(paused)}, true, 0},
		"a model beside a question":     {1, []Snapshot{claim(paused, asks, done)}, true, 0},
		"a model, and another works":    {1, []Snapshot{claim(paused, GrantRunning)}, false, 0},
		"a model, and another failed":   {1, []Snapshot{claim(paused, GrantFailed)}, false, 0},
		"a model and a conflict":        {1, []Snapshot{claim(paused, waits)}, true, 0},
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

func TestAhead(t *testing.T) {
	goal := func(id string, state LandingState, outstanding, suspended int) Workflow {
		return Workflow{ID: id, Status: WorkflowActive, Outstanding: outstanding, Suspended: suspended, Landing: &Landing{State: state}}
	}
	barred, sick, ended := goal("barred", LandingBarred, 1, 1), goal("sick", LandingQueued, 1, 0), goal("ended", LandingLanded, 0, 0)
	barred.Landing.People, sick.Landing.Trouble, ended.Status = true, "no space left", WorkflowAchieved
	var (
		asks   = goal("asks", LandingVerifying, 2, 1)
		works  = goal("works", LandingVerifying, 2, 0)
		next   = goal("next", LandingQueued, 1, 0)
		moves  = goal("moves", LandingMoving, 1, 0)
		seen   = goal("seen", LandingVerifying, 1, 0)
		claims = goal("claims", LandingQueued, 2, 0)
	)
	for name, c := range map[string]struct {
		w     Workflow
		queue []Workflow
		want  string
	}{
		"behind a person":                {next, []Workflow{asks, next}, "asks"},
		"behind others behind it":        {next, []Workflow{asks, sick, seen, next}, "asks"},
		"the ones that pass":             {next, []Workflow{barred, sick, asks, next}, "asks"},
		"behind a person, with trouble":  {sick, []Workflow{asks, sick}, "asks"},
		"after its verification":         {seen, []Workflow{asks, seen}, "asks"},
		"the queue is cut":               {next, []Workflow{asks}, "asks"},
		"before a person":                {sick, []Workflow{sick, asks}, ""},
		"first":                          {next, []Workflow{next, asks}, ""},
		"itself":                         {asks, []Workflow{asks, next}, ""},
		"agents work on it":              {claims, []Workflow{asks, claims}, ""},
		"behind agents":                  {next, []Workflow{works, asks, next}, ""},
		"behind the repository":          {next, []Workflow{moves, asks, next}, ""},
		"only a person frees its branch": {barred, []Workflow{asks, barred}, ""},
		"all pass":                       {next, []Workflow{barred, sick, next}, ""},
		"it has ended":                   {ended, []Workflow{asks}, ""},
		"no landing":                     {Workflow{ID: "x", Status: WorkflowActive, Outstanding: 1}, []Workflow{asks}, ""},
		"nobody waits":                   {next, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ahead, ok := c.w.Ahead(c.queue)
			if ok != (c.want != "") || ok && ahead.ID != c.want {
				t.Errorf("got %q, %v", ahead.ID, ok)
			}
		})
	}
}
