package lineage

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Row is one line about a step. Its text may hold control characters.
type Row struct {
	Label string
	Text  string
	Tone  view.Tone
	Made  bool // it names the artefact that the step made
}

type rows []Row

func (r *rows) add(label, what string, as view.Tone) {
	*r = append(*r, Row{Label: label, Text: what, Tone: as})
}

// Rows says everything about a step, with times of day as clock shows them.
func (s Step) Rows(clock func(time.Time) string) []Row {
	var r rows
	if s.Claim != nil {
		r.claim(s.Claim, clock)
	} else if s.Unread != "" {
		r.add("error", s.Unreadable, view.Bad)
	}
	if a := s.Artefact; a != nil {
		r = append(r, Row{"made", a.Name() + " by " + a.Maker + " at " + clock(a.CreatedAt) + words.Because(a.Says), view.StructuralTone(a.StructuralType), true})
	}
	if g := s.Gate; g != nil {
		r.add("approval", g.Decision()+after(g.Waited, " after ")+words.Because(g.Says), g.Tone())
	}
	for _, source := range s.Sources {
		r.add("also from", source.Name()+" by "+source.Maker+words.Because(source.Says), view.Plain)
	}
	return r
}

// Title names a claim for people, and the artefact that it is on.
func (c *WhyClaim) Title() (kind, target string) {
	of := blackboard.Artefact{Type: words.Shorten(role.Clean(c.Target.Type), 40), Version: c.Target.Version}
	kind = "claim" // opened for a new artefact
	if c.Origin != blackboard.OriginArtefact {
		kind = cmp.Or(role.Clean(string(c.Origin)), kind)
	}
	return kind, view.Title(of) + " " + words.Short(c.ArtefactID)
}

func (r *rows) claim(c *WhyClaim, clock func(time.Time) string) {
	r.add("opened", clock(c.OpenedAt)+", "+c.Because, view.Plain)
	for _, f := range c.Feedback {
		r.add("context", f.Name()+" by "+f.Maker+words.Because(f.Says), view.Plain)
	}
	r.bids(c)
	for _, g := range c.Grants {
		r.add(string(g.Phase), g.Text(), view.GrantTone(blackboard.Grant{State: g.State, Verdict: g.Verdict}))
		if ran := view.Ran(g.Ran); ran != "" {
			r.add("ran", ran, view.Quiet)
		}
		if g.Base != "" {
			r.add("tree", "from "+words.Commit(g.Base), view.Quiet)
		}
		for _, m := range g.Models {
			r.add("models", view.Calls(m.Spent), view.Quiet)
		}
		for _, u := range g.Unmerged {
			r.add("tree", "without "+u.Text(), view.Warn)
		}
		for _, q := range g.Questions {
			r.add("asked", fmt.Sprintf("%s: %s", words.Short(q.ID), q.Says), view.Warn)
			r.add("answered", q.AnswerText(), view.Plain)
		}
	}
	if x := c.Cancelled; x != nil {
		r.add("cancelled", fmt.Sprintf("%s by %s%s", clock(x.CancelledAt), cmp.Or(x.By, "a person"), words.Because(x.Why)), view.Bad)
	}
	if !c.ClosedAt.IsZero() {
		r.add("closed", clock(c.ClosedAt)+after(c.Took, ", after ")+words.Because(role.Clean(c.Reason)), view.Plain)
	} else {
		r.add("closed", "not yet", view.Quiet)
	}
	if c.RetriedAs != "" {
		r.add("retried", "as claim "+words.Short(c.RetriedAs), view.Plain)
	}
}

// Text names the artefact.
func (u WhyUnmerged) Text() string {
	said := view.WithID(cmp.Or(u.Title, "artefact"), u.ID)
	if u.By != "" {
		said += " by " + u.By
	}
	return said + ": its commit conflicts"
}

// bids shows the bids, and the entries of sett.yml that decided them.
func (r *rows) bids(c *WhyClaim) {
	var bids []blackboard.Bid
	var rules []string
	for _, b := range c.Bids {
		bids = append(bids, b.Bid)
		if b.Rule != "" {
			rules = append(rules, fmt.Sprintf("%s %q%s", b.Agent, b.Rule, lineOf(b.Line)))
		}
	}
	if said := view.Bids(bids); said != "" {
		r.add("bids", said+after(c.BidsTook, ", all in after "), view.Plain)
	}
	if len(rules) > 0 {
		r.add("by rule", strings.Join(rules, ", "), view.Quiet)
	}
}

// lineOf names a line of sett.yml; "" where it is unknown.
func lineOf(line int) string {
	if line == 0 {
		return ""
	}
	return fmt.Sprintf(" (line %d)", line)
}

// Text says how a grant went.
func (g WhyGrant) Text() string {
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

// AnswerText says the answer.
func (q WhyQuestion) AnswerText() string {
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
