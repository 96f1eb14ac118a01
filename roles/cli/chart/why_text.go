package chart

import (
	"cmp"
	"fmt"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/roles/view/lineage"
)

// WhyWidth is the number of columns that a line should fit in, and whyText the number of
// columns beside the labels.
const (
	WhyWidth = 100
	whyText  = WhyWidth - len("  exclusive  ")
)

// Why prints the steps of a chain for people.
func Why(a *term.Terminal, v lineage.Why) error {
	if len(v.Steps) == 0 {
		return nil
	}
	for i, s := range v.Steps {
		if i > 0 {
			a.Printf("\n")
		}
		if err := stepLines(a, s); err != nil {
			return err
		}
	}
	return nil
}

// stepLines shows a step: the claim, then the artefact made under it.
func stepLines(a *term.Terminal, s lineage.Step) error {
	switch {
	case s.Claim != nil:
		kind, target := s.Claim.Title()
		a.Printf("%s %s on %s  %s\n", kind, a.Paint(words.Short(s.Claim.ID), term.Accent), target, a.Paint(string(s.Claim.Status), term.Of(view.ClaimTone(s.Claim.Status))))
	case s.Unread != "":
		a.Printf("claim %s  %s\n", a.Paint(words.Short(s.Unread), term.Accent), a.Paint("unreadable", term.Bad))
	case s.Artefact != nil:
		word := "made without a claim"
		if s.Artefact.Type == blackboard.TypeGoalDefined {
			word = "goal"
		}
		a.Printf("%s %s\n", word, a.Paint(words.Short(s.Artefact.ID), term.Accent))
	}
	t, last := a.Table(), ""
	for _, r := range s.Rows(a.Clock) {
		shown, as := r.Label, term.Of(r.Tone)
		if shown == last { // the line before has this label, too
			shown = ""
		}
		last = r.Label
		if r.Made {
			as = cmp.Or(as, term.Bold)
		}
		t.Row(term.Cell{Text: "  " + fmt.Sprintf("%-9s", shown), As: term.Dim}, term.Cell{Text: words.Shorten(role.Clean(r.Text), whyText), As: as})
	}
	return t.Write(a.Stdout)
}
