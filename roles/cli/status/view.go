// Package status looks at instances: their units, their agents and the waits of their
// open work. It also lends the eyes of package view to a command.
package status

import (
	"cmp"
	"context"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/view"
	"sett/runtime"
)

// BoardOf is an instance's blackboard as views read it.
func BoardOf(b *instance.Board) view.Board {
	return view.Board{Moment: b, Artefacts: b.Records, Claims: b.Records, Index: b.Index, Landing: b.Index, Roster: b.Roster, Calls: b.Calls}
}

// Reader makes views of an instance.
func Reader(at *instance.Locator, b *instance.Board, in *instance.Instance) view.Reader {
	c, _ := in.Config() // without it slots are not told from starts
	return view.Reader{
		Board: BoardOf(b), Config: c, Clock: at.Clock,
		Command: func(args string) string { return at.CommandLine(in, args) },
		Units: func(ctx context.Context) view.UnitTrouble {
			return unitTrouble(unitsOf(ctx, at, in))
		},
	}
}

// unitsOf returns the units of an instance by name; nil when they cannot be seen.
func unitsOf(ctx context.Context, at *instance.Locator, in *instance.Instance) map[string]runtime.Unit {
	place, err := at.Place(ctx, in)
	if err != nil {
		return nil
	}
	all, err := place.List(ctx, nil)
	if err != nil || len(all) == 0 {
		return nil // as where it was never brought up from here
	}
	return byName(in, all)
}

// byName are an instance's units by name, also those that its keeper is about to start.
func byName(in *instance.Instance, all []runtime.Unit) map[string]runtime.Unit {
	units := map[string]runtime.Unit{}
	for _, u := range all {
		units[u.Name] = u
	}
	for _, name := range in.Returning(all) {
		u := units[name]
		u.Name, u.Restarting = name, true
		units[name] = u
	}
	return units
}

// unitTrouble returns a function that names a unit's trouble; nil without units.
func unitTrouble(units map[string]runtime.Unit) view.UnitTrouble {
	if units == nil {
		return nil
	}
	return func(name string) string {
		unit := runtime.AgentUnit(name)
		if name == blackboard.RoleOrchestrator {
			unit = runtime.ComponentOrchestrator
		}
		switch u, there := units[unit]; {
		case u.Restarting:
			return "is being restarted"
		case !there || !u.Running:
			return "is not running"
		case u.Paused:
			return "is paused"
		}
		return ""
	}
}

// ToneOf is the style of a wait in a list.
func ToneOf(w view.Wait) term.Style { return cmp.Or(term.Of(w.Tone()), term.Accent) }
