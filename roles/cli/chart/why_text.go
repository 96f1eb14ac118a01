package chart

import (
	"cmp"
	"fmt"
	"strings"
	"time"

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
	t := &whyTable{Table: a.Table()}
	if c := s.Claim; c != nil {
		target := blackboard.Artefact{Type: words.Shorten(role.Clean(c.Target.Type), 40), Version: c.Target.Version}
		a.Printf("%s %s on %s %s  %s\n", cmp.Or(originWord(c.Origin), "claim"), a.Paint(words.Short(c.ID), term.Accent), view.Title(target),
			words.Short(c.ArtefactID), a.Paint(string(c.Status), term.Of(view.ClaimTone(c.Status))))
		t.claim(a, c)
	} else if s.Unread != "" {
		a.Printf("claim %s  %s\n", a.Paint(words.Short(s.Unread), term.Accent), a.Paint("unreadable", term.Bad))
		t.add("error", s.Unreadable, term.Bad)
	} else if s.Artefact != nil {
		word := "made without a claim"
		if s.Artefact.Type == blackboard.TypeGoalDefined {
			word = "goal"
		}
		a.Printf("%s %s\n", word, a.Paint(words.Short(s.Artefact.ID), term.Accent))
	}
	if r := s.Artefact; r != nil {
		t.add("made", r.Name()+" by "+r.Maker+" at "+a.Clock(r.CreatedAt)+words.Because(r.Says), cmp.Or(term.Of(view.StructuralTone(r.StructuralType)), term.Bold))
	}
	if g := s.Gate; g != nil {
		t.add("approval", g.Decision()+after(g.Waited, " after ")+words.Because(g.Says), term.Of(g.Tone()))
	}
	for _, source := range s.Sources {
		t.add("also from", source.Name()+" by "+source.Maker+words.Because(source.Says), term.Plain)
	}
	return t.Write(a.Stdout)
}

// originWord is the word for a claim that was not opened for a new artefact; empty for
// other claims.
func originWord(o blackboard.ClaimOrigin) string {
	if o == blackboard.OriginArtefact {
		return ""
	}
	return role.Clean(string(o))
}

// whyTable is a table with labels in its first column.
type whyTable struct {
	*term.Table
	last string
}

// add adds a line. It leaves out a label that the line before has too.
func (t *whyTable) add(label, what string, as term.Style) {
	shown := label
	if label == t.last {
		shown = ""
	}
	t.last = label
	t.Row(term.Cell{Text: "  " + fmt.Sprintf("%-9s", shown), As: term.Dim}, term.Cell{Text: words.Shorten(role.Clean(what), whyText), As: as})
}

func (t *whyTable) claim(a *term.Terminal, c *lineage.WhyClaim) {
	t.add("opened", a.Clock(c.OpenedAt)+", "+c.Because, term.Plain)
	for _, f := range c.Feedback {
		t.add("context", f.Name()+" by "+f.Maker+words.Because(f.Says), term.Plain)
	}
	t.bids(c)
	for _, g := range c.Grants {
		t.add(string(g.Phase), grantSays(g), term.Of(view.GrantTone(blackboard.Grant{State: g.State, Verdict: g.Verdict})))
		if ran := view.Ran(g.Ran); ran != "" {
			t.add("ran", ran, term.Dim)
		}
		if g.Base != "" {
			t.add("tree", "from "+words.Commit(g.Base), term.Dim)
		}
		for _, m := range g.Models {
			t.add("models", view.Calls(m.Spent), term.Dim)
		}
		for _, u := range g.Unmerged {
			t.add("tree", "without "+unmergedSays(u), term.Warn)
		}
		for _, q := range g.Questions {
			t.add("asked", fmt.Sprintf("%s: %s", words.Short(q.ID), q.Says), term.Warn)
			t.add("answered", answerOf(q), term.Plain)
		}
	}
	if x := c.Cancelled; x != nil {
		t.add("cancelled", fmt.Sprintf("%s by %s%s", a.Clock(x.CancelledAt), cmp.Or(x.By, "a person"), words.Because(x.Why)), term.Bad)
	}
	if !c.ClosedAt.IsZero() {
		t.add("closed", a.Clock(c.ClosedAt)+after(c.Took, ", after ")+words.Because(role.Clean(c.Reason)), term.Plain)
	} else {
		t.add("closed", "not yet", term.Dim)
	}
	if c.RetriedAs != "" {
		t.add("retried", "as claim "+words.Short(c.RetriedAs), term.Plain)
	}
}

// unmergedSays names the artefact.
func unmergedSays(u lineage.WhyUnmerged) string {
	said := view.WithID(cmp.Or(u.Title, "artefact"), u.ID)
	if u.By != "" {
		said += " by " + u.By
	}
	return said + ": its commit conflicts"
}

// bids shows the bids, and the entries of sett.yml that decided them.
func (t *whyTable) bids(c *lineage.WhyClaim) {
	var bids []blackboard.Bid
	var rules []string
	for _, b := range c.Bids {
		bids = append(bids, b.Bid)
		if b.Rule != "" {
			rules = append(rules, fmt.Sprintf("%s %q", b.Agent, b.Rule))
		}
	}
	if said := view.Bids(bids); said != "" {
		t.add("bids", said+after(c.BidsTook, ", all in after "), term.Plain)
	}
	if len(rules) > 0 {
		t.add("by rule", strings.Join(rules, ", "), term.Dim)
	}
}

func grantSays(g lineage.WhyGrant) string {
	who := g.Agent
	if g.By != "" {
		who = g.By
	}
	said := who + " " + view.GrantState(blackboard.Grant{State: g.State, Verdict: g.Verdict, Attempt: g.Attempt})
	if g.Crashes > 0 {
		said += ", crashed " + words.Count(g.Crashes, "time")
	}
	if g.Kept {
		said += ", kept"
	}
	said += after(g.Queued, ", queued ") + after(g.Tool, ", tool ")
	if g.Tool == nil {
		said += after(g.Took, ", took ")
	}
	if g.ResultID == "" {
		return said + words.Because(g.Reason)
	}
	return said + words.Because(strings.TrimSpace(view.WithID(cmp.Or(g.Title, "result"), g.ResultID)+words.Because(g.Says)))
}

func answerOf(q lineage.WhyQuestion) string {
	if q.AnswerID == "" {
		return "not yet"
	}
	return fmt.Sprintf("%s by %s%s%s", words.Short(q.AnswerID), cmp.Or(q.By, "a person"), after(q.Waited, " after "), words.Because(q.Answer))
}

// after returns word and a duration; empty if the duration is not known.
func after(s *float64, word string) string {
	if s == nil {
		return ""
	}
	return word + words.Span(time.Duration(*s*float64(time.Second)))
}
