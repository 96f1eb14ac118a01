package chart

import (
	"cmp"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view/flow"
)

// Plan prints a plan for people.
func Plan(t *term.Terminal, p *flow.Plan) error {
	table := t.Table()
	for i, f := range p.Types {
		if i > 0 && !f.Reached && p.Types[i-1].Reached {
			table.Row("")
		}
		table.Row(term.Cell{Text: f.Name, As: term.Bold}, origin(p, f))
		if f.Gate {
			table.Row("  gate", "waits for sett approve", walked(p, func(w *flow.Walked) string { return w.Gate(f.Name).Says() }))
		}
		if len(f.Review) > 0 {
			table.Row("  review", strings.Join(f.Review, ", "), walked(p, func(w *flow.Walked) string { return reviewed(w, f) }))
		}
		for _, s := range p.Steps {
			if s.From == f.Name {
				table.Row("  "+s.Bid, s.Agent.Agent+" "+glyphsOf(t).arrow+s.Made(), walked(p, func(w *flow.Walked) string { return w.Of(s.From, s.Agent.Agent, false).Says() }))
			}
		}
	}
	if err := table.Write(t.Stdout); err != nil {
		return err
	}
	t.Printf("\n")
	planEnds(t, p)
	if p.Land != nil {
		t.Printf("lands on    branch %s (%s), one goal after another%s\n", role.Clean(p.Land.Onto), p.Land.How, verified(p))
	}
	for _, s := range p.Stalls {
		t.Printf("may stall   %s: %s\n", role.Clean(s.Type), role.Clean(s.Why))
	}
	for _, line := range p.Asks {
		t.Printf("asks        %s\n", role.Clean(line))
	}
	if p.Walked != nil {
		planWalked(t, p)
	}
	return nil
}

// walked is a cell of the count; empty where nobody asked for it.
func walked(p *flow.Plan, says func(*flow.Walked) string) term.Cell {
	if p.Walked == nil {
		return term.Cell{}
	}
	return term.Cell{Text: says(p.Walked), As: term.Dim}
}

// reviewed counts the reviews of a type, reviewer by reviewer.
func reviewed(w *flow.Walked, f *config.FlowType) string {
	var all []string
	for _, name := range f.Review {
		says := w.Of(f.Name, name, true).Says()
		if len(f.Review) > 1 {
			says = name + " " + says
		}
		all = append(all, says)
	}
	return strings.Join(all, "; ")
}

// planWalked prints since when was counted, and the arrows that the plan does not have.
func planWalked(t *term.Terminal, p *flow.Plan) {
	w := p.Walked
	if w.Since.IsZero() {
		t.Printf("walked      never: the ledger is empty\n")
		return
	}
	t.Printf("walked      by %s since %s\n", words.Count(w.Goals, "goal"), t.Clock(w.Since))
	for _, a := range w.Beside(p) {
		t.Printf("also        %s on %s by %s: %s\n", a.Phase, role.Clean(cmp.Or(a.Type, "a type that the ledger does not say")), role.Clean(a.Agent), a.Says())
	}
}

// verified names the people and agents that see the commit which the branch would have.
func verified(p *flow.Plan) string {
	for _, f := range p.Types {
		switch {
		case !f.Lands:
		case f.Gate:
			return "; the Landing waits for your word first"
		case len(f.Review) > 0:
			return "; once " + strings.Join(f.Review, ", ") + " let the Landing pass"
		default:
			return "; nobody reviews the Landing"
		}
	}
	return ""
}

// planEnds prints the final results. Programs that choose their type share a line.
func planEnds(t *term.Terminal, p *flow.Plan) {
	var choose []string
	for _, e := range p.Ends {
		switch {
		case e.Sure:
			t.Printf("ends with   %s by %s\n", role.Clean(e.Type), e.Agent)
		case e.Type != "":
			t.Printf("may end     with %s by %s, where its program prints a Terminal\n", role.Clean(e.Type), e.Agent)
		default:
			choose = append(choose, e.Agent)
		}
	}
	if len(choose) > 0 {
		t.Printf("may end     where a program prints a Terminal: %s\n", strings.Join(choose, ", "))
	}
	if len(p.Ends) == 0 {
		t.Printf("ends        never with a final result: each goal stalls\n")
	}
}

// origin says where artefacts of a type come from.
func origin(p *flow.Plan, f *config.FlowType) string {
	switch {
	case f.Name == blackboard.TypeGoalDefined:
		return "by you"
	case f.Lands:
		return "by the repository: the commit that branch " + role.Clean(p.Land.Onto) + " would have"
	case f.Settles:
		return "by the repository, where commits do not merge"
	case len(f.Makers) > 0:
		return "by " + strings.Join(f.Makers, ", ")
	case len(p.Undeclared) > 0:
		return "by an agent that says no makes"
	}
	return "by nobody"
}
