package cli

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
)

// whyWidth is how many columns a line should fit in, and whyText how many of them
// are beside the labels.
const (
	whyWidth = 100
	whyText  = whyWidth - len("  exclusive  ")
)

func (v whyView) text(a *app) error {
	if len(v.Steps) == 0 {
		return nil
	}
	for i, s := range v.Steps {
		if i > 0 {
			a.printf("\n")
		}
		if err := s.lines(a); err != nil {
			return err
		}
	}
	return nil
}

// lines shows a step: the claim, then what it yielded.
func (s whyStep) lines(a *app) error {
	t := &whyTable{table: a.table()}
	if c := s.Claim; c != nil {
		target := blackboard.Artefact{Type: shorten(clean(c.Target.Type), 40), Version: c.Target.Version}
		a.printf("%s %s on %s %s  %s\n", orElse(originWord(c.Origin), "claim"), a.paint(short(c.ID), accent), title(target),
			short(c.ArtefactID), a.paint(string(c.Status), claimStyle(c.Status)))
		c.rows(a, t)
	} else if s.unread != "" {
		a.printf("claim %s  %s\n", a.paint(short(s.unread), accent), a.paint("unreadable", bad))
		t.add("error", s.Unreadable, bad)
	} else if s.Artefact != nil {
		word := "made without a claim"
		if s.Artefact.Type == blackboard.TypeGoalDefined {
			word = "goal"
		}
		a.printf("%s %s\n", word, a.paint(short(s.Artefact.ID), accent))
	}
	if r := s.Artefact; r != nil {
		t.add("made", r.name()+" by "+r.maker+" at "+a.clock(r.CreatedAt)+because(r.Says), cmp.Or(structuralStyle(r.StructuralType), bold))
	}
	if g := s.Gate; g != nil {
		t.add("approval", g.decision()+after(g.Waited, " after ")+because(g.Says), g.style())
	}
	for _, source := range s.Sources {
		t.add("also from", source.name()+" by "+source.maker+because(source.Says), plain)
	}
	return t.write(a.Stdout)
}

// originWord is what a claim is called that was not opened for a new artefact.
func originWord(o blackboard.ClaimOrigin) string {
	if o == blackboard.OriginArtefact {
		return ""
	}
	return clean(string(o))
}

// whyTable has a label on the left.
type whyTable struct {
	*table
	last string
}

// add adds a line; the same label again is not repeated.
func (t *whyTable) add(label, what string, as style) {
	shown := label
	if label == t.last {
		shown = ""
	}
	t.last = label
	t.row(cell{"  " + fmt.Sprintf("%-9s", shown), dim}, cell{shorten(clean(what), whyText), as})
}

func (c *whyClaim) rows(a *app, t *whyTable) {
	t.add("opened", a.clock(c.OpenedAt)+", "+c.Because, plain)
	for _, f := range c.Feedback {
		t.add("context", f.name()+" by "+f.maker+because(f.Says), plain)
	}
	if bids := bidText(c.Bids); bids != "" {
		t.add("bids", bids+after(c.BidsTook, ", all in after "), plain)
	}
	for _, g := range c.Grants {
		t.add(string(g.Phase), g.says(), grantStyle(blackboard.Grant{State: g.State, Verdict: g.Verdict}))
		for _, q := range g.Questions {
			t.add("asked", fmt.Sprintf("%s: %s", short(q.ID), q.Says), warn)
			t.add("answered", q.answer(), plain)
		}
	}
	if x := c.Cancelled; x != nil {
		t.add("cancelled", fmt.Sprintf("%s by %s%s", a.clock(x.CancelledAt), orElse(x.By, "a person"), because(x.Why)), bad)
	}
	if !c.ClosedAt.IsZero() {
		t.add("closed", a.clock(c.ClosedAt)+after(c.Took, ", after ")+because(clean(c.Reason)), plain)
	} else {
		t.add("closed", "not yet", dim)
	}
	if c.RetriedAs != "" {
		t.add("retried", "as claim "+short(c.RetriedAs), plain)
	}
}

func (g whyGrant) says() string {
	who := g.Agent
	if g.By != "" {
		who = g.By
	}
	said := who + " " + grantState(blackboard.Grant{State: g.State, Verdict: g.Verdict, Attempt: g.Attempt})
	if g.Crashes > 0 {
		said += ", crashed " + count(g.Crashes, "time")
	}
	if g.Kept {
		said += ", kept"
	}
	said += after(g.Queued, ", queued ") + after(g.Tool, ", tool ")
	if g.Tool == nil {
		said += after(g.Took, ", took ")
	}
	if g.ResultID == "" {
		return said + because(g.Reason)
	}
	return said + because(strings.TrimSpace(orElse(g.Title, "result")+" "+short(g.ResultID)+because(g.Says)))
}

func (q whyQuestion) answer() string {
	if q.AnswerID == "" {
		return "not yet"
	}
	return fmt.Sprintf("%s by %s%s%s", short(q.AnswerID), orElse(q.By, "a person"), after(q.Waited, " after "), because(q.Answer))
}

// after says how long something took, where that is known.
func after(s *float64, word string) string {
	if s == nil {
		return ""
	}
	return word + span(time.Duration(*s*float64(time.Second)))
}
