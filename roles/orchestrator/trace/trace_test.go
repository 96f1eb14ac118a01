package trace_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sett/blackboard"
	names "sett/contract/trace"
	"sett/roles/orchestrator/trace"
	"sett/roles/role/otlp"
	"sett/roles/view/lineage"
)

func at(ms int) time.Time { return time.UnixMilli(int64(ms)).UTC() }

// history is a goal with a grant of two attempts, a call of a model in the second, one for
// a bid, and a person's decision.
func history() *lineage.History {
	fact := func(pairs ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = pairs[i+1]
		}
		return m
	}
	runs := []blackboard.Event{
		{Time: at(20), Kind: blackboard.EventStart, Claim: "C", Agent: "a", Attributes: fact("attempt", "1", "image", "sha256:1")},
		{Time: at(40), Kind: blackboard.EventRequeue, Claim: "C", Agent: "a", Reason: "holder died\x1b[31m"},
		{Time: at(50), Kind: blackboard.EventStart, Claim: "C", Agent: "a", Attributes: fact("attempt", "2")},
		{Time: at(93), Kind: blackboard.EventResult, Claim: "C", Agent: "a", Artefact: "R"}, // later than in the record
		{Time: at(91), Kind: blackboard.EventStart, Claim: "C", Agent: "b", Attributes: fact("attempt", "1")},
	}
	events := append([]blackboard.Event{
		{Time: at(10), Kind: blackboard.EventBid, Claim: "C", Agent: "a", To: "exclusive"},
		{Time: at(12), Kind: blackboard.EventCall, Claim: "C", Agent: "a", Attributes: fact("attempt", "0", "call", "K0", "model", "m", "took_us", "1000", "input", "1")},
	}, runs...)
	events = append(events,
		blackboard.Event{Time: at(80), Kind: blackboard.EventCall, Claim: "C", Agent: "a", Reason: "cut",
			Attributes: fact("attempt", "2", "call", "K1", "model", "m", "took_us", "20000", "input", "5", "cached", "2", "output", "7", "status", "200")},
		blackboard.Event{Time: at(95), Kind: blackboard.EventApprove, Attributes: fact("by", "ann")})
	claim := &lineage.WhyClaim{ID: "C", ArtefactID: "G", Target: blackboard.Target{Type: "GoalDefined", Version: 1}, Status: blackboard.Complete, OpenedAt: at(5), ClosedAt: at(100),
		Grants: []lineage.WhyGrant{
			{Phase: blackboard.PhaseExclusive, Agent: "a", Attempt: 2, State: blackboard.GrantDone, ResultID: "R", QueuedAt: at(40), StartedAt: at(50), EndedAt: at(90)},
			{Phase: blackboard.PhaseExclusive, Agent: "b", Attempt: 1, State: blackboard.GrantFailed, Reason: "exit code 1", QueuedAt: at(90), StartedAt: at(91)}, // it never ended
			{Phase: blackboard.PhaseReview, Agent: "old", Kept: true},
		}}
	next := &lineage.WhyClaim{ID: "D", ArtefactID: "R", Target: blackboard.Target{Type: "Code"}, OpenedAt: at(95)}
	return &lineage.History{
		Workflow: blackboard.Workflow{ID: "G", Status: blackboard.WorkflowFailed, CreatedAt: at(1), EndedAt: at(120)},
		Steps:    []lineage.Step{{Claim: claim}, {Claim: next}, {}}, Runs: map[string][]blackboard.Event{"C": runs}, Events: events,
	}
}

// TestOf: each span has its place, its time and its end.
func TestOf(t *testing.T) {
	spans := trace.Of(history(), map[string]string{"m": "big-1"})
	called := map[string]string{names.Root("G"): "goal", names.Claim("C"): "C", names.Claim("D"): "D", names.Grant("C", "a"): "C/a", names.Grant("C", "b"): "C/b",
		names.Run("C", "a", 1): "C/a/1", names.Run("C", "a", 2): "C/a/2", names.Run("C", "b", 1): "C/b/1", names.Call("K0"): "K0", names.Call("K1"): "K1"}
	var got []string
	for _, s := range spans {
		if s.Trace != names.ID("G") {
			t.Errorf("span %s is of trace %s", s.Name, s.Trace)
		}
		line := fmt.Sprintf("%s in %s: %s %d to %d", called[s.ID], called[s.Parent], s.Name, time.Time(s.Start).UnixMilli(), time.Time(s.End).UnixMilli())
		if s.Status.Code != 0 {
			line += " failed: " + s.Status.Message
		}
		for _, l := range s.Links {
			line += " after " + called[l.ID]
		}
		got = append(got, line)
	}
	want := []string{
		"goal in : goal 1 to 120 failed: the goal failed",
		"C in goal: claim GoalDefined 5 to 100",
		"C/a in C: grant exclusive 20 to 90",
		"C/a/1 in C/a: invoke_agent a 20 to 40 failed: holder died",
		"C/a/2 in C/a: invoke_agent a 50 to 90",
		"C/b in C: grant exclusive 90 to 120 failed: exit code 1",
		"C/b/1 in C/b: invoke_agent b 91 to 120 failed: exit code 1",
		"D in goal: claim Code 95 to 120 after C/a",
		"K0 in C: chat big-1 11 to 12",
		"K1 in C/a/2: chat big-1 60 to 80 failed: cut",
	}
	for i := range got {
		if at := strings.Index(got[i], "holder died"); at >= 0 {
			if strings.Contains(got[i], "\x1b") {
				t.Errorf("a raw escape: %q", got[i])
			}
			got[i] = got[i][:at+len("holder died")]
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	call := spans[len(spans)-1]
	text, err := json.Marshal(call)
	if err != nil || call.Kind != otlp.Client {
		t.Fatalf("%v, kind %d", err, call.Kind)
	}
	for _, want := range []string{`"gen_ai.request.model","value":{"stringValue":"big-1"}`, `"gen_ai.usage.input_tokens","value":{"intValue":"7"}`, `"gen_ai.usage.output_tokens","value":{"intValue":"7"}`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
	if root := spans[0]; len(root.Events) != 1 || root.Events[0].Name != "approve" {
		t.Errorf("events of the goal %+v", root.Events)
	}
}

// Each turn of a goal to land is a span, from its result to the turn's end.
func TestLanding(t *testing.T) {
	step := func(ms int, to blackboard.LandingState, commit string) blackboard.Event {
		return blackboard.Event{Time: at(ms), Kind: blackboard.EventLanding, To: string(to), Artefact: "R", Reason: "conflict in a/path", Attributes: map[string]string{"branch": "released", "commit": commit}}
	}
	h := history()
	h.Events = append(h.Events, step(97, blackboard.LandingMoving, "c1"), step(98, blackboard.LandingReworked, ""),
		blackboard.Event{Time: at(105), Kind: blackboard.EventComplete}, step(106, blackboard.LandingBarred, ""), step(111, blackboard.LandingMoving, "c2"), step(112, blackboard.LandingLanded, "c2"))
	var got []string
	for _, s := range trace.Of(h, nil) {
		if s.Name != "landing" {
			continue
		}
		text, err := json.Marshal(s)
		if err != nil || strings.Contains(string(text), "a/path") || s.Parent != names.Root("G") || len(s.Links) != 1 || s.Links[0].ID != names.Grant("C", "a") {
			t.Errorf("%v, span %s", err, text)
		}
		line := fmt.Sprintf("%d to %d:", time.Time(s.Start).UnixMilli(), time.Time(s.End).UnixMilli())
		for _, e := range s.Events {
			line += " " + e.Name
		}
		for key, value := range map[string]string{"branch": "released", "commit": "c2"} {
			if strings.Contains(string(text), `"sett.landing.`+key+`","value":{"stringValue":"`+value+`"}`) != (key == "branch" || len(s.Events) == 3) {
				t.Errorf("%s in span %s", key, text)
			}
		}
		got = append(got, s.ID+" "+line)
	}
	want := []string{
		names.Landing("G", 1) + " 95 to 98: moving reworked",
		names.Landing("G", 2) + " 105 to 112: barred moving landed",
	}
	if !slices.Equal(got, want) {
		t.Errorf("spans:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestOfNothing: a goal whose records are gone is one span.
func TestOfNothing(t *testing.T) {
	h := &lineage.History{Workflow: blackboard.Workflow{ID: "G", Status: blackboard.WorkflowAchieved, CreatedAt: at(1)}}
	if spans := trace.Of(h, nil); len(spans) != 1 || time.Time(spans[0].End).Before(time.Time(spans[0].Start)) {
		t.Errorf("spans %+v", spans)
	}
}
