package chart

import (
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/term"
	"sett/roles/role"
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
			table.Row("  gate", "waits for sett approve")
		}
		if len(f.Review) > 0 {
			table.Row("  review", strings.Join(f.Review, ", "))
		}
		for _, s := range p.Steps {
			if s.From == f.Name {
				table.Row("  "+s.Bid, s.Agent.Agent+" "+glyphsOf(t).arrow+s.Made())
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
	return nil
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
	case len(f.Makers) > 0:
		return "by " + strings.Join(f.Makers, ", ")
	case len(p.Undeclared) > 0:
		return "by an agent that says no makes"
	}
	return "by nobody"
}
