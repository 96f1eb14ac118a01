package flow

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
)

// entry is an entry of the ledger, so many seconds after the beginning.
func entry(seconds int, kind blackboard.EventKind, claim, artefact, agent string, phase blackboard.Phase, attributes ...string) blackboard.Event {
	e := blackboard.Event{Time: time.Date(2026, 1, 2, 3, 4, seconds, 0, time.UTC), Kind: kind, Claim: claim, Artefact: artefact, Agent: agent, Phase: string(phase), Attributes: map[string]string{}}
	for i := 0; i < len(attributes); i += 2 {
		e.Attributes[attributes[i]] = attributes[i+1]
	}
	return e
}

// result is an entry of a tool's result.
func result(seconds int, claim, artefact, agent string, phase blackboard.Phase, structural, name, us string, more ...string) blackboard.Event {
	return entry(seconds, blackboard.EventResult, claim, artefact, agent, phase, append([]string{"structural_type", structural, "type", name, "tool_us", us}, more...)...)
}

// A rework counts at the type of its artefact, also where no claim of agents led to it: after a person's
// rejection, a refused landing, or commits that do not merge.
func TestWalkedReworks(t *testing.T) {
	count := NewCounter()
	for _, e := range []blackboard.Event{
		entry(0, blackboard.EventGoal, "", "goal", "", ""),
		entry(1, blackboard.EventOpen, "c1", "goal", "", "", "type", "GoalDefined"),
		result(2, "c1", "d1", "writer", blackboard.PhaseExclusive, "Terminal", "Draft", "1000000", "gate", "held"),
		entry(3, blackboard.EventReject, "c2", "d1", "", "", "by", "anna", "result", "review"),
		entry(4, blackboard.EventTerminate, "c2", "", "writer", "", "rework", "c3"),
		result(5, "c3", "d2", "writer", blackboard.PhaseExclusive, "Terminal", "Draft", "1000000"),
		entry(6, blackboard.EventLanding, "", "d2", "", "", "result", "l", "result_type", "Landing"),
		entry(7, blackboard.EventLanding, "c4", "d2", "writer", ""),
		result(8, "c4", "d3", "writer", blackboard.PhaseExclusive, "Terminal", "Draft", "1000000"),
		entry(9, blackboard.EventConflict, "c4", "", "writer", "exclusive", "result", "x", "result_type", "Conflict"),
		{Kind: blackboard.EventConflict, Claim: "c5", Artefact: "d3", Agent: "writer", To: "reworked", Attributes: map[string]string{"result": "r", "result_type": "Review"}},
		result(11, "c5", "d4", "writer", blackboard.PhaseExclusive, "Terminal", "Draft", "1000000"),
		entry(12, blackboard.EventReject, "c6", "l", "", "", "by", "anna"),
		entry(13, blackboard.EventTerminate, "c6", "", "writer", "", "rework", "c7"),
		result(14, "c7", "l2", "writer", blackboard.PhaseExclusive, "Standard", "Landing", "1000000"),
		entry(15, blackboard.EventConflict, "c7", "x", "writer", "exclusive"), // it waits: no other claim
		result(16, "c7", "l3", "writer", blackboard.PhaseExclusive, "Standard", "Landing", "1000000"),
	} {
		count.Add(e)
	}
	w := count.Walked()
	for name, times := range map[string]int{"GoalDefined": 1, "Draft": 3, "Landing": 2} {
		if got := w.Of(name, "writer", false).Times; got != times {
			t.Errorf("the writer worked %d times on %s, want %d: %+v", got, name, times, w.Arrows)
		}
	}
	if g := w.Gate("Draft"); g.Rejected != 1 || g.Seconds != 1 {
		t.Errorf("gate %+v", g)
	}
}

// The ways of a goal with a review that rejects, a rework, a retry, a gate, and work that
// the plan does not have.
func TestWalked(t *testing.T) {
	count := NewCounter()
	for _, e := range []blackboard.Event{
		entry(0, blackboard.EventGoal, "", "goal", "", ""),
		entry(1, blackboard.EventOpen, "c1", "goal", "", "", "type", "GoalDefined"),
		result(2, "c1", "f", "writer", blackboard.PhaseExclusive, "Failure", "ToolExecutionFailure", "500000"),
		entry(3, blackboard.EventTerminate, "c1", "", "", ""),
		entry(4, blackboard.EventRetry, "c2", "", "", "", "retry_of", "c1"),
		result(5, "c2", "d1", "writer", blackboard.PhaseExclusive, "Standard", "Draft", "1500000"),
		entry(6, blackboard.EventOpen, "c3", "d1", "", "", "type", "Draft"),
		result(7, "c3", "r", "lint", blackboard.PhaseReview, "Review", "Review", "100000", "verdict", "feedback"),
		entry(8, blackboard.EventTerminate, "c3", "", "writer", "", "rework", "c4"),
		result(9, "c4", "d2", "writer", blackboard.PhaseExclusive, "Standard", "Draft", "2500000", "gate", "held"),
		entry(29, blackboard.EventApprove, "", "d2", "", "", "by", "anna"),
		entry(30, blackboard.EventOpen, "c5", "d2", "", "", "type", "Draft"),
		result(31, "c5", "q", "ghost", blackboard.PhaseParallel, "Question", "Question", ""),
		result(32, "unknown", "x", "ghost", blackboard.PhaseParallel, "Standard", "X", "1"),
		entry(33, blackboard.EventReject, "", "of an older ledger", "", ""),
	} {
		count.Add(e)
	}
	w := count.Walked()
	want := []Arrow{
		{Type: "", Phase: "parallel", Agent: "ghost", Times: 1, Seconds: 1e-6, Longest: 1e-6, Makes: []Made{{"X", 1}}},
		{Type: "Draft", Phase: "exclusive", Agent: "writer", Times: 1, Seconds: 2.5, Longest: 2.5, Makes: []Made{{"Draft", 1}}},
		{Type: "Draft", Phase: "parallel", Agent: "ghost", Times: 1, Asked: 1, Makes: []Made{{"Question", 1}}},
		{Type: "Draft", Phase: "review", Agent: "lint", Times: 1, Rejected: 1, Seconds: 0.1, Longest: 0.1, Makes: []Made{{"Review", 1}}},
		{Type: "GoalDefined", Phase: "exclusive", Agent: "writer", Times: 2, Failed: 1, Seconds: 2, Longest: 1.5, Makes: []Made{{"Draft", 1}, {"ToolExecutionFailure", 1}}},
	}
	if !reflect.DeepEqual(w.Arrows, want) {
		got, _ := json.MarshalIndent(w.Arrows, "", " ")
		t.Errorf("arrows %s", got)
	}
	if gates := []Passed{{Type: "Draft", Approved: 1, Seconds: 20, Longest: 20}}; !reflect.DeepEqual(w.Gates, gates) || w.Goals != 1 || w.Since.Second() != 0 {
		t.Errorf("gates %+v, goals %d since %s", w.Gates, w.Goals, w.Since)
	}
	c, err := config.Parse("sett.yml", []byte(`runtime: process
approve: [Draft]
agents:
  writer: {command: [x], adapter: text, makes: Draft, bids: {GoalDefined: exclusive}}
  lint: {command: [x], adapter: check, bids: {Draft: review}}
  idle: {command: [x], adapter: text, makes: Done, bids: {Draft: exclusive}}
`))
	if err != nil {
		t.Fatal(err)
	}
	p := Of(c)
	bare := p.Draw().File("x")
	p.Walked = w
	for name, drawn := range map[string]string{"svg": p.Draw().File("x"), "mermaid": p.Mermaid(), "dot": p.Dot()} {
		for _, says := range []string{"2 times, 1.0s each, at most 1.5s, 1 failed", "once, 100ms, 1 rejected", "never"} {
			if !strings.Contains(drawn, says) {
				t.Errorf("%s does not say %q:\n%s", name, says, drawn)
			}
		}
	}
	if svg := p.Draw().File("x"); !strings.Contains(svg, "waits for approval: once, 20.0s") || strings.Contains(bare, "never") {
		t.Errorf("the gate is not counted, or without --walked something is:\n%s", svg)
	}
	var beside []string
	for _, a := range w.Beside(p) {
		beside = append(beside, a.Agent+" on "+a.Type)
	}
	if want := []string{"ghost on ", "writer on Draft", "ghost on Draft"}; !reflect.DeepEqual(beside, want) {
		t.Errorf("beside the plan %q, want %q", beside, want)
	}
	if empty := NewCounter().Walked(); !empty.Since.IsZero() || empty.Arrows == nil || empty.Gates == nil {
		t.Errorf("of nothing: %+v", empty)
	}
}
