package trace

import (
	"time"

	"sett/blackboard"
	names "sett/contract/trace"
	"sett/roles/role"
	"sett/roles/role/otlp"
)

// landings are the spans of a goal's turns to land: each from the entry with its result to the landing's end,
// with its steps as events. After a rework of its result a goal takes another turn.
func (m *maker) landings(events []blackboard.Event) {
	var turn []blackboard.Event
	var from, before time.Time
	count := 0
	end := func(to time.Time) {
		if len(turn) > 0 {
			count++
			m.landing(count, turn, from, to)
		}
		turn = nil
	}
	for _, e := range events {
		if e.Kind == blackboard.EventLanding {
			if len(turn) == 0 {
				if from = before; from.IsZero() {
					from = e.Time
				}
			}
			turn = append(turn, e)
			switch blackboard.LandingState(e.To) {
			case blackboard.LandingReworked, blackboard.LandingLanded, blackboard.LandingNone:
				end(e.Time)
			}
		}
		before = e.Time
	}
	end(time.Time{})
}

// landing is the span of one turn.
func (m *maker) landing(turn int, steps []blackboard.Event, from, to time.Time) {
	last := steps[len(steps)-1]
	s := otlp.Span{ID: names.Landing(m.goal, turn), Parent: names.Root(m.goal), Name: "landing", Attributes: []otlp.Attribute{
		otlp.Text("sett.landing.branch", role.Clean(last.Attributes["branch"])), otlp.Text("sett.landing.state", last.To),
	}}
	for _, name := range []string{"commit", "how"} {
		if value := last.Attributes[name]; value != "" {
			s.Attributes = append(s.Attributes, otlp.Text("sett.landing."+name, role.Clean(value)))
		}
	}
	if last.Artefact != "" {
		s.Attributes = append(s.Attributes, otlp.Text("sett.artefact.id", last.Artefact))
		if made := m.made[last.Artefact]; made != "" {
			s.Links = []otlp.Link{{Trace: m.trace, ID: made}}
		}
	}
	for _, e := range steps {
		s.Events = append(s.Events, otlp.Event{At: otlp.Nanos(e.Time), Name: e.To})
	}
	m.add(s, from, to)
}
