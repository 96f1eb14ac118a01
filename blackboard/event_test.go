package blackboard

import "testing"

func TestCallsPerson(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		event       Event
		asked, held string
		ended       WorkflowStatus
		barred      bool
	}{
		"agent's question":     {event: Event{Kind: EventResult, Artefact: "Q", Attributes: map[string]string{"structural_type": "Question"}}, asked: "Q"},
		"orchestrator's":       {event: Event{Kind: EventTerminate, Attributes: map[string]string{"result": "Q", "result_type": "Question", "rework": "C"}}, asked: "Q"},
		"question asked again": {event: Event{Kind: EventRetry, Artefact: "A", Attributes: map[string]string{"result": "Q", "result_type": "Question"}}, asked: "Q"},
		"gate":                 {event: Event{Kind: EventResult, Artefact: "A", Attributes: map[string]string{"structural_type": "Terminal", "gate": "held"}}, held: "A"},
		"no gate":              {event: Event{Kind: EventResult, Artefact: "A", Attributes: map[string]string{"structural_type": "Terminal", "gate": ""}}},
		"rework without one":   {event: Event{Kind: EventTerminate, Attributes: map[string]string{"result": "", "result_type": "", "rework": "C"}}},
		"failure":              {event: Event{Kind: EventTerminate, Attributes: map[string]string{"result": "F", "result_type": "ReviewLimit", "workflow_status": "failed"}}, ended: WorkflowFailed},
		"gate on a landing":    {event: Event{Kind: EventLanding, Artefact: "A", To: "verifying", Attributes: map[string]string{"result": "L", "result_type": "Landing", "gate": "held"}}, held: "L"},
		"cannot land":          {event: Event{Kind: EventLanding, Artefact: "A", To: "barred"}, barred: true},
		"trouble":              {event: Event{Kind: EventLanding, Artefact: "A", To: "barred", Attributes: map[string]string{"trouble": "no space"}}},
		"nothing":              {event: Event{Kind: EventBid, Artefact: "A"}},
	} {
		e := c.event
		if e.Asked() != c.asked || e.Held() != c.held || e.CallsPerson() != (c.asked+c.held != "" || c.barred) || e.GoalEnded() != c.ended {
			t.Errorf("%s: asked %q, held %q, calls %v, ended %q", name, e.Asked(), e.Held(), e.CallsPerson(), e.GoalEnded())
		}
	}
}
