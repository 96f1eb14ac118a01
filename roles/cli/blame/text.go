package blame

import (
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Write prints the writers of the lines: a row for neighbouring lines with one origin.
func (b *Blame) Write(t *term.Terminal) error {
	if len(b.Lines) == 0 {
		t.Sayf("sett: %s has no lines\n", role.Clean(b.File))
		return nil
	}
	table := t.Table("LINES", "BY", "FROM", "REVIEWED BY", "GOAL", "COST")
	for i := 0; i < len(b.Lines); {
		end := i
		for end+1 < len(b.Lines) && source(b, end+1) == source(b, i) {
			end++
		}
		lines := fmt.Sprint(b.Lines[i].Number)
		if end > i {
			lines += fmt.Sprintf("-%d", b.Lines[end].Number)
		}
		o := b.Of(b.Lines[i])
		table.Row(lines, term.Cell{Text: o.Who(), As: writerStyle(o)}, originText(o), reviewerText(o), goalText(o), costText(o))
		i = end + 1
	}
	return table.Write(t.Stdout)
}

// source is the artefact that brought a line, else its commit.
func source(b *Blame, line int) string {
	if o := b.Of(b.Lines[line]); o.By == Agent {
		return o.Artefact.ID
	}
	return b.Lines[line].Commit
}

// writerStyle lets agents stand out.
func writerStyle(o *Origin) term.Style {
	switch o.By {
	case Agent:
		return term.Accent
	case Nobody:
		return term.Dim
	}
	return ""
}

// originText names the artefact, or the person's commit.
func originText(o *Origin) string {
	switch o.By {
	case Nobody:
		return "not committed yet"
	case Agent:
		text := role.Clean(o.Artefact.Type)
		if o.Artefact.Version > 1 {
			text += fmt.Sprintf(" v%d", o.Artefact.Version)
		}
		text += " " + words.Short(o.Artefact.ID)
		if o.Known == ByPatch {
			text += ", rebased"
		}
		return text
	}
	return fmt.Sprintf("commit %s by a person: %s", words.Commit(o.Commit), words.Shorten(role.Clean(o.Subject), 50))
}

// reviewerText names the reviewers, those with feedback with a mark.
func reviewerText(o *Origin) string {
	var all []string
	for _, r := range o.Reviewers {
		name := role.Clean(r.By)
		if r.Verdict == blackboard.Feedback {
			name += " (feedback)"
		}
		all = append(all, name)
	}
	return orDash(strings.Join(all, ", "))
}

func goalText(o *Origin) string {
	if o.By != Agent {
		return "-"
	}
	return words.Short(o.Artefact.WorkflowID) + " " + words.Shorten(words.Quote(o.Goal), 40)
}

func costText(o *Origin) string {
	if len(o.Models) == 0 {
		return "-"
	}
	return view.CostText(view.GoalSpending{By: o.Models}.Sum())
}

// orDash is a text, or a dash in place of none.
func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
