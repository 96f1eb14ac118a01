package cli

import (
	"fmt"
	"strings"

	"sett/blackboard"
)

func (v goalView) text(a *app) error {
	w := v.Workflow
	a.printf("%s %s  %s\n", a.paint("goal", bold), w.ID, a.paint(goalStatus(w), workflowStyle(w.Status)))
	a.printf("%s\n", indent(excerpt(blackboard.Artefact{Payload: v.Text}), "  "))
	times := fmt.Sprintf("posted %s", a.clock(w.CreatedAt))
	if w.Status.Ended() {
		times += fmt.Sprintf(", ended %s, took %s", a.clock(w.EndedAt), span(w.EndedAt.Sub(w.CreatedAt)))
	}
	a.printf("  %s\n", times)
	a.printf("  %s, %s, %d outstanding\n", count(w.Artefacts, "artefact"), count(w.Claims, "claim"), w.Outstanding)
	if v.Outcome != "" {
		a.printf("  %s\n", a.paint(v.Outcome, workflowStyle(w.Status)))
	}
	for _, c := range v.Claims {
		a.printf("\n")
		if err := c.lines(a); err != nil {
			return err
		}
	}
	return a.waitLines(v.Waits, v.More)
}

func (v claimAlone) text(a *app) error {
	c := v.Claim
	a.printf("%s %s\n", a.paint("claim", bold), c.ID)
	a.printf("  of goal %s, opened %s", short(c.WorkflowID), a.clock(c.OpenedAt))
	if !c.ClosedAt.IsZero() {
		a.printf(", closed %s, took %s", a.clock(c.ClosedAt), span(c.ClosedAt.Sub(c.OpenedAt)))
	}
	a.printf("\n")
	if len(c.AdditionalContextIDs) > 0 {
		a.printf("  because of %s\n", strings.Join(shorts(c.AdditionalContextIDs), ", "))
	}
	if c.RetryOf != "" {
		a.printf("  tries claim %s again\n", short(c.RetryOf))
	}
	a.printf("\n")
	if err := v.lines(a); err != nil {
		return err
	}
	if err := v.chainLines(a); err != nil {
		return err
	}
	return a.waitLines(v.Waits, 0)
}

// lines shows the claim as a part of something: what it is on, who bid what, and
// what became of each grant.
func (v claimView) lines(a *app) error {
	c := v.Claim
	target := fmt.Sprintf("%s %s", clean(c.Target.Type), short(c.ArtefactID))
	if c.Target.Version > 1 {
		target = fmt.Sprintf("%s v%d %s", clean(c.Target.Type), c.Target.Version, short(c.ArtefactID))
	}
	what := "claim"
	if c.Origin != blackboard.OriginArtefact {
		what = clean(string(c.Origin))
	}
	a.printf("%s %s on %s  %s\n", what, a.paint(short(c.ID), accent), target, a.paint(claimStatus(c), claimStyle(c.Status)))
	if bids := bidText(v.Bids); bids != "" {
		a.printf("  bids: %s\n", bids)
	}
	if c.RetriedAs != "" {
		a.printf("  tried again as claim %s\n", short(c.RetriedAs))
	}
	t := a.table()
	for _, phase := range blackboard.Phases {
		for _, g := range v.Grants {
			if g.Phase == phase {
				t.row("  "+string(phase), orElse(g.By, g.Agent), cell{grantState(g.Grant), grantStyle(g.Grant)}, grantTime(g.Grant), resultText(g))
			}
		}
	}
	return t.write(a.Stdout)
}

func claimStatus(c blackboard.Claim) string { return string(c.Status) + because(clean(c.Reason)) }

func claimStyle(s blackboard.ClaimStatus) style {
	switch s {
	case blackboard.Complete:
		return good
	case blackboard.Terminated:
		return warn
	}
	return plain
}

// bidText lists the bids in the order they came in; those who ignore are last.
func bidText(bids []blackboard.Bid) string {
	var said, ignored []string
	for _, b := range bids {
		if b.Type == blackboard.BidIgnore {
			ignored = append(ignored, b.Agent)
			continue
		}
		said = append(said, fmt.Sprintf("%s %s", b.Agent, b.Type))
	}
	if len(ignored) > 0 {
		said = append(said, "ignored by "+strings.Join(ignored, " "))
	}
	return clean(strings.Join(said, ", "))
}

func grantState(g blackboard.Grant) string {
	s := strings.ReplaceAll(string(g.State), "_", " ")
	switch g.Verdict {
	case blackboard.Approve:
		s = "approves"
	case blackboard.Feedback:
		s = "rejects"
	}
	if g.Attempt > 1 {
		s += fmt.Sprintf(", attempt %d", g.Attempt)
	}
	return s
}

func grantStyle(g blackboard.Grant) style {
	switch {
	case g.State == blackboard.GrantFailed:
		return bad
	case g.Verdict == blackboard.Feedback, g.State == blackboard.GrantAwaitingAnswer:
		return warn
	case g.State == blackboard.GrantDone:
		return good
	}
	return plain
}

// grantTime is how long the tool ran; without a tool how long the grant took.
func grantTime(g blackboard.Grant) string {
	switch {
	case g.ToolTime > 0:
		return span(g.ToolTime)
	case !g.StartedAt.IsZero() && !g.EndedAt.IsZero():
		return span(g.EndedAt.Sub(g.StartedAt))
	}
	return ""
}

func resultText(g grantView) string {
	if g.Result == nil {
		return strings.TrimPrefix(because(g.Reason), ": ")
	}
	a := blackboard.Artefact{StructuralType: g.Result.StructuralType, Type: g.Result.Type, Version: g.Result.Version}
	return fmt.Sprintf("%s %s%s", title(a), short(g.Result.ID), because(g.Says))
}

// chainLines shows how an artefact came to its last version.
func (v claimAlone) chainLines(a *app) error {
	if len(v.Chain) == 0 {
		return nil
	}
	a.printf("\nversions:\n")
	t := a.table()
	for _, s := range v.Chain {
		next := ""
		if s.Rework != "" {
			next = fmt.Sprintf("reworked by %s under claim %s", clean(s.Agent), short(s.Rework))
		}
		t.row(fmt.Sprintf("  v%d", s.Version), short(s.Artefact), "claim "+short(s.Claim), cell{string(s.Status), claimStyle(s.Status)}, next)
	}
	return t.write(a.Stdout)
}

// waitLines shows what is waited for, and for how long already; more is how much
// open work was not looked at.
func (a *app) waitLines(waits []wait, more int) error {
	if len(waits) == 0 {
		return nil
	}
	a.printf("\nwaits for:\n")
	t := a.table()
	for _, w := range waits {
		t.row("  "+w.What, w.Text, cell{w.lasted(), dim})
	}
	if err := t.write(a.Stdout); err != nil {
		return err
	}
	if more > 0 {
		a.printf("  and what %d more wait for\n", more)
	}
	return nil
}
