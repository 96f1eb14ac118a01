package live

import (
	"fmt"
	"time"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Work is the open work of a goal or of all goals, as it was read at a time.
type Work struct {
	Waits   []view.Wait
	More    int           // open work that was not looked at
	Matters []view.Matter // questions and gates that wait for a person
	Read    time.Time
	Said    func(agent, claim string) string // a tool's last line of output; empty: none yet
}

const (
	mostBottom = 8               // lines of each kind
	soon       = 2 * time.Second // a wait that ends within it is not shown
)

// Bottom returns the lines at the bottom: first the matters of people, then the tools that
// run and all other waits.
func (w Work) Bottom(now time.Time) []Styled {
	var out []Styled
	for i, m := range w.Matters {
		if i == mostBottom {
			out = append(out, Styled{{fmt.Sprintf("and %d more wait for you", len(w.Matters)-i), term.Warn}})
			break
		}
		out = append(out, matterLines(m)...)
	}
	passed := max(now.Sub(w.Read), 0)
	lines, hidden := 0, w.More
	for _, wait := range w.Waits {
		wait = wait.Later(passed)
		if wait.What.ByPerson() || wait.What != blackboard.WaitResult && time.Duration(wait.AgeSeconds)*time.Second < soon {
			continue
		}
		if lines == mostBottom {
			hidden++
			continue
		}
		lines++
		line := Styled{{role.Clean(wait.Brief()), term.Of(wait.Tone())}}
		if wait.What == blackboard.WaitResult && w.Said != nil {
			if said := w.Said(wait.Agent, wait.SubjectID); said != "" {
				line = append(line, Piece{"  " + role.Clean(term.Untab(said)), term.Dim})
			}
		}
		out = append(out, line)
	}
	if hidden > 0 && lines > 0 {
		out = append(out, Styled{{"and " + words.Count(hidden, "more wait"), term.Dim}})
	}
	return out
}

// matterLines are a question or gate, and the command that settles it.
func matterLines(m view.Matter) []Styled {
	who := role.Clean(m.Agent)
	if who == "" {
		who = role.Clean(m.Role)
	}
	head := who + " asks: "
	if m.Kind == view.MatterGate {
		head = role.Clean(m.About.Type) + " of " + who + " waits for approval: "
	}
	text := words.Quote(m.Text)
	lines := []Styled{{{head + text, term.Warn}}}
	if look := m.LookFor(text); look != "" && m.Kind == view.MatterQuestion {
		lines = append(lines, Styled{{"  " + role.Clean(look), term.Bold}})
	}
	if len(m.Commands) > 0 {
		lines = append(lines, Styled{{"  " + role.Clean(m.Commands[0]), term.Bold}})
	}
	return lines
}
