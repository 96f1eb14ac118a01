package chart

import (
	"cmp"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Goal prints a goal with its claims and waits.
func Goal(t *term.Terminal, v view.GoalDetail) error {
	w := v.Workflow
	t.Printf("%s %s  %s\n", t.Paint("goal", term.Bold), w.ID, t.Paint(view.GoalStatus(w), term.Of(view.WorkflowTone(w.Status))))
	t.Printf("%s\n", words.Indent(view.Excerpt(blackboard.Artefact{Payload: v.Text, Altered: v.Altered}), "  "))
	times := fmt.Sprintf("posted %s%s", t.Clock(w.CreatedAt), withPrefix(" by ", role.Clean(w.By)))
	if w.Status.Ended() {
		times += fmt.Sprintf(", ended %s, took %s", t.Clock(w.EndedAt), words.Span(w.EndedAt.Sub(w.CreatedAt)))
	}
	t.Printf("  %s\n", times)
	if v.Base != "" {
		t.Printf("  starts from commit %s%s\n", words.Commit(role.Clean(v.Base)), withPrefix(" of branch ", role.Clean(v.Branch)))
	}
	t.Printf("  %s, %s, %d outstanding\n", words.Count(w.Artefacts, "artefact"), words.Count(w.Claims, "claim"), w.Outstanding)
	if v.Outcome != "" {
		t.Printf("  %s\n", t.Paint(v.Outcome, term.Of(view.WorkflowTone(w.Status))))
	}
	if v.Over != nil {
		t.Printf("  %s\n", t.Paint(role.Clean(v.Over.Over()), term.Warn))
	}
	if l := w.Landing; l != nil && (l.State == blackboard.LandingLanded || l.Trouble != "") {
		t.Printf("  %s\n", landingText(*l))
	}
	for _, c := range v.Claims {
		t.Printf("\n")
		if err := claimLines(t, c); err != nil {
			return err
		}
	}
	return Waits(t, v.Waits, v.More)
}

// Claim prints a claim with its bids, grants and waits.
func Claim(t *term.Terminal, v view.ClaimAlone) error {
	c := v.Claim
	t.Printf("%s %s\n", t.Paint("claim", term.Bold), c.ID)
	t.Printf("  of goal %s, opened %s", words.Short(c.WorkflowID), t.Clock(c.OpenedAt))
	if !c.ClosedAt.IsZero() {
		t.Printf(", closed %s, took %s", t.Clock(c.ClosedAt), words.Span(c.ClosedAt.Sub(c.OpenedAt)))
	}
	t.Printf("\n")
	if len(c.AdditionalContextIDs) > 0 {
		t.Printf("  because of %s\n", strings.Join(words.Shorts(c.AdditionalContextIDs), ", "))
	}
	if c.RetryOf != "" {
		t.Printf("  tries claim %s again\n", words.Short(c.RetryOf))
	}
	t.Printf("\n")
	if err := claimLines(t, v.ClaimDetail); err != nil {
		return err
	}
	if err := chainLines(t, v); err != nil {
		return err
	}
	return Waits(t, v.Waits, 0)
}

// claimLines shows the claim as a part of its goal: its artefact, the bids, and
// each grant with its result.
func claimLines(t *term.Terminal, v view.ClaimDetail) error {
	c := v.Claim
	target := fmt.Sprintf("%s %s", role.Clean(c.Target.Type), words.Short(c.ArtefactID))
	if c.Target.Version > 1 {
		target = fmt.Sprintf("%s v%d %s", role.Clean(c.Target.Type), c.Target.Version, words.Short(c.ArtefactID))
	}
	what := "claim"
	if c.Origin != blackboard.OriginArtefact {
		what = role.Clean(string(c.Origin))
	}
	t.Printf("%s %s on %s  %s\n", what, t.Paint(words.Short(c.ID), term.Accent), target, t.Paint(view.ClaimStatus(c), term.Of(view.ClaimTone(c.Status))))
	if bids := view.Bids(v.Bids); bids != "" {
		t.Printf("  bids: %s\n", bids)
	}
	if c.RetriedAs != "" {
		t.Printf("  tried again as claim %s\n", words.Short(c.RetriedAs))
	}
	rows := t.Table()
	for _, phase := range blackboard.Phases {
		for _, g := range v.Grants {
			if g.Phase == phase {
				rows.Row("  "+string(phase), cmp.Or(g.By, g.Agent), term.Cell{Text: view.GrantState(g.Grant), As: term.Of(view.GrantTone(g.Grant))}, view.GrantTime(g.Grant), view.ResultText(g))
				for _, id := range g.Unmerged {
					rows.Row("", "", term.Cell{Text: "tree without " + words.Short(id), As: term.Warn}, "", "its commit conflicts")
				}
			}
		}
	}
	return rows.Write(t.Stdout)
}

// chainLines shows how an artefact came to its last version.
func chainLines(t *term.Terminal, v view.ClaimAlone) error {
	if len(v.Chain) == 0 {
		return nil
	}
	t.Printf("\nversions:\n")
	rows := t.Table()
	for _, s := range v.Chain {
		next := ""
		if s.Rework != "" {
			next = fmt.Sprintf("reworked by %s under claim %s", role.Clean(s.Agent), words.Short(s.Rework))
		}
		rows.Row(fmt.Sprintf("  v%d", s.Version), words.Short(s.Artefact), "claim "+words.Short(s.Claim), term.Cell{Text: string(s.Status), As: term.Of(view.ClaimTone(s.Status))}, next)
	}
	return rows.Write(t.Stdout)
}

// Waits prints the waits of open work, and how much more was not looked at.
func Waits(t *term.Terminal, waits []view.Wait, more int) error {
	if len(waits) == 0 {
		return nil
	}
	t.Printf("\nwaits for:\n")
	rows := t.Table()
	for _, w := range waits {
		rows.Row("  "+string(w.What), w.Text, term.Cell{Text: w.Lasted(), As: term.Dim})
	}
	if err := rows.Write(t.Stdout); err != nil {
		return err
	}
	if more > 0 {
		t.Printf("  and what %d more wait for\n", more)
	}
	return nil
}
