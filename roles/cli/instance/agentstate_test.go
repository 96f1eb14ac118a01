package instance

import (
	"testing"
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// TestStateOf: sett up, list, restart and doctor see an agent alike.
func TestStateOf(t *testing.T) {
	now := time.Unix(1000, 0)
	unit := runtime.Unit{Running: true, Labels: runtime.Labels{runtime.LabelIncarnation: "i"}}
	paused := unit
	paused.Paused = true
	p := blackboard.Presence{Incarnation: "i", Alive: now.Add(time.Second)}
	of := func(change func(*blackboard.Presence)) blackboard.Presence {
		q := p
		change(&q)
		return q
	}
	for _, c := range []struct {
		unit           runtime.Unit
		p              blackboard.Presence
		works          bool
		want           AgentState
		ready, answers bool
		trouble        string
	}{
		{runtime.Unit{}, p, false, AgentStopped, false, false, ""},
		{paused, p, true, AgentPaused, false, false, ""},
		{unit, blackboard.Presence{}, false, AgentStarting, false, false, ""},
		{unit, of(func(q *blackboard.Presence) { q.Incarnation = "former" }), false, AgentStarting, false, false, ""},
		{unit, of(func(q *blackboard.Presence) { q.Alive = now }), false, AgentSilent, false, false, ""},
		{unit, of(func(q *blackboard.Presence) { q.Trouble, q.Unfit = "no sh", true }), false, AgentUnfit, false, true, "unfit: no sh"},
		{unit, of(func(q *blackboard.Presence) { q.Trouble = "exit 1" }), true, AgentUnwell, true, true, "unhealthy: its newest bid could not be evaluated: exit 1"},
		{unit, p, true, AgentWorking, true, true, ""},
		{unit, p, false, AgentIdle, true, true, ""},
	} {
		s := StateOf(c.unit, c.p, now, c.works)
		if s != c.want || s.Ready() != c.ready || s.Answers() != c.answers || s.Trouble(c.p) != c.trouble {
			t.Errorf("%+v %+v: %s, ready %v, answers %v, %q", c.unit, c.p, s, s.Ready(), s.Answers(), s.Trouble(c.p))
		}
	}
}
