package chart

import (
	"cmp"
	"fmt"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/store"
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
	if v.Landing != nil {
		a.Printf("\n%s\n", landingText(*v.Landing))
	}
	return nil
}

// landingText says how far the landing of a result is.
func landingText(l blackboard.Landing) string {
	branch, reason := role.Clean(l.Branch), role.Clean(l.Reason)
	switch {
	case l.Trouble != "":
		return "landing: trouble: " + role.Clean(l.Trouble) + "; it is tried again"
	case l.State == blackboard.LandingLanded:
		text := fmt.Sprintf("landed as commit %s of branch %s, by %s", words.Commit(role.Clean(l.Commit)), branch, role.Clean(l.How))
		if l.How == store.Already {
			text = fmt.Sprintf("branch %s had it already, at commit %s", branch, words.Commit(role.Clean(l.Commit)))
		} else if l.Tip != "" && l.Tip != l.Commit {
			text += ", on top of " + words.Commit(role.Clean(l.Tip))
		}
		if l.Verification != "" {
			text += "; verified as Landing " + words.Short(l.Verification)
		}
		return text
	case l.State == blackboard.LandingBarred:
		return "landing: waits for you: " + reason
	case l.State == blackboard.LandingVerifying:
		return fmt.Sprintf("landing: Landing %s is verified", words.Short(l.Verification))
	case l.State == blackboard.LandingNone, l.State == blackboard.LandingRefused:
		return "landing: " + string(l.State) + words.Because(reason)
	}
	return "landing: " + string(l.State)
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
