package lineage

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/term"
	"sett/roles/role"
)

// Plan is the clan before anything runs: types of artefacts, and the agents that make
// something of them. The names of its fields are part of the interface.
type Plan struct {
	config.Flow
	Agents []PlanAgent `json:"agents"`
	Ends   []PlanEnd   `json:"ends"`   // final results that a goal may lead to
	Stalls []PlanStall `json:"stalls"` // places where work may stop before a final result

	steps []planStep
	asks  []string // agents with their models
}

// PlanAgent is an agent and its results.
type PlanAgent struct {
	Agent   string   `json:"agent"`
	Adapter string   `json:"adapter"`
	Makes   []string `json:"makes"`           // none: it does not say, or only reviews
	MayEnd  bool     `json:"may_end"`         // a result of it may be final
	Unknown bool     `json:"any_type"`        // it works, and does not say what it makes
	Model   string   `json:"model,omitempty"` // the model that its program may ask, as sett.yml names it
}

// PlanEnd is a way to a final result.
type PlanEnd struct {
	Agent string `json:"agent"`
	Type  string `json:"type"`    // of the result; empty: the agent does not say
	Sure  bool   `json:"certain"` // each success is final; else its program chooses
}

// PlanStall is a place where work may stop.
type PlanStall struct {
	Type string `json:"type"`
	Why  string `json:"why"`
}

// planStep is an agent's work on a type.
type planStep struct {
	from  string
	bid   string // parallel, exclusive, or script
	agent PlanAgent
	final bool // each success is final
}

// PlanOf draws a configuration's flow.
func PlanOf(c *config.Config) *Plan {
	p := &Plan{Flow: *c.Flow(), Agents: []PlanAgent{}, Ends: []PlanEnd{}, Stalls: []PlanStall{}}
	agents := map[string]PlanAgent{}
	for _, a := range c.Agents {
		kind := a.Adapter.Kind
		if kind == "" {
			kind = config.AdapterJSON
		}
		agents[a.Name] = PlanAgent{Agent: a.Name, Adapter: kind, Makes: append([]string{}, a.Makes()...), MayEnd: a.MayEnd(), Unknown: slices.Contains(p.Undeclared, a.Name)}
		if m, ok := c.ModelOf(a); ok {
			with := agents[a.Name]
			with.Model = m.Name
			agents[a.Name] = with
			p.asks = append(p.asks, fmt.Sprintf("%s: %s (%s, %s at %s)", a.Name, m.Name, m.API, m.Model, m.BaseURL))
		}
		p.Agents = append(p.Agents, agents[a.Name])
	}
	for _, t := range p.Types {
		for _, way := range []struct {
			bid    string
			agents []string
		}{{"parallel", t.Parallel}, {"exclusive", t.Exclusive}, {"script", t.Scripts}} {
			for _, name := range way.agents {
				a, _ := c.Agent(name)
				final := a.Adapter.Terminal && way.bid == "exclusive"
				p.steps = append(p.steps, planStep{t.Name, way.bid, agents[name], final})
			}
		}
		p.stalls(c, t)
	}
	p.ends()
	return p
}

// ends finds the final results that a goal may lead to.
func (p *Plan) ends() {
	reached := map[string]bool{}
	for _, t := range p.Types {
		reached[t.Name] = t.Reached
	}
	for _, s := range p.steps {
		if !reached[s.from] || !s.agent.MayEnd || s.agent.Adapter != config.AdapterJSON && !s.final {
			continue
		}
		sure := s.final
		types := s.agent.Makes
		if len(types) == 0 {
			types = []string{""}
		}
		for _, made := range types {
			if end := (PlanEnd{s.agent.Agent, made, sure}); !slices.Contains(p.Ends, end) {
				p.Ends = append(p.Ends, end)
			}
		}
	}
	slices.SortStableFunc(p.Ends, func(a, b PlanEnd) int {
		switch {
		case a.Sure == b.Sure:
			return 0
		case a.Sure:
			return -1
		}
		return 1
	})
}

// stalls finds the reasons for which work on a type may stop.
func (p *Plan) stalls(c *config.Config, t *config.FlowType) {
	add := func(format string, args ...any) {
		p.Stalls = append(p.Stalls, PlanStall{t.Name, fmt.Sprintf(format, args...)})
	}
	if !t.Reached {
		add("no goal leads to it")
		return
	}
	if t.Gate {
		add("it waits for sett approve")
	}
	if len(t.Review) > 0 && c.Orchestrator.MaxReviewIterations > 0 && c.Orchestrator.OnReviewLimit == config.ReviewLimitAsk {
		add("after %d reworks it waits for a person", c.Orchestrator.MaxReviewIterations)
	}
	alone := func(maker string) bool { return !p.Joined(maker) }
	if (len(t.Makers) == 0 || t.Claimed() && slices.ContainsFunc(t.Makers, alone)) && len(t.Workers()) == 0 {
		add("nobody works on it")
	}
	for _, name := range t.Scripts {
		if a, _ := c.Agent(name); a.BidsRequired && c.Orchestrator.BidTimeout == 0 {
			add("it waits for the bid of %s", name)
		}
	}
}

// Write prints the plan for people.
func (p *Plan) Write(t *term.Terminal) error {
	table := t.Table()
	for i, f := range p.Types {
		if i > 0 && !f.Reached && p.Types[i-1].Reached {
			table.Row("")
		}
		table.Row(term.Cell{Text: f.Name, As: term.Bold}, p.origin(f))
		if f.Gate {
			table.Row("  gate", "waits for sett approve")
		}
		if len(f.Review) > 0 {
			table.Row("  review", strings.Join(f.Review, ", "))
		}
		for _, s := range p.steps {
			if s.from == f.Name {
				table.Row("  "+s.bid, s.agent.Agent+" "+glyphsOf(t).arrow+s.made())
			}
		}
	}
	if err := table.Write(t.Stdout); err != nil {
		return err
	}
	t.Printf("\n")
	p.writeEnds(t)
	for _, s := range p.Stalls {
		t.Printf("may stall   %s: %s\n", role.Clean(s.Type), role.Clean(s.Why))
	}
	for _, line := range p.asks {
		t.Printf("asks        %s\n", role.Clean(line))
	}
	return nil
}

// writeEnds prints the final results. Programs that choose their type share a line.
func (p *Plan) writeEnds(t *term.Terminal) {
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
func (p *Plan) origin(f *config.FlowType) string {
	switch {
	case f.Name == blackboard.TypeGoalDefined:
		return "by you"
	case len(f.Makers) > 0:
		return "by " + strings.Join(f.Makers, ", ")
	case len(p.Undeclared) > 0:
		return "by an agent that says no makes"
	}
	return "by nobody"
}

// made names the results of a step.
func (s planStep) made() string {
	said := strings.Join(s.agent.Makes, " or ")
	switch {
	case s.agent.Unknown:
		return "any type"
	case s.final:
		return said + ", final"
	case s.agent.MayEnd && s.agent.Adapter == config.AdapterJSON:
		return said + ", may be final"
	}
	return said
}

// Mermaid writes the plan as a Mermaid flowchart: types are boxes, agents are round.
func (p *Plan) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	ids := p.draw(func(id, text, kind string) {
		shape := map[string][2]string{"type": {"[", "]"}, "agent": {"(", ")"}, "end": {"([", "])"}}[kind]
		fmt.Fprintf(&b, "  %s%s\"%s\"%s\n", id, shape[0], mermaidText(text), shape[1])
	})
	p.edges(ids, func(from, to, label string, dotted bool) {
		line := "-->"
		if dotted {
			line = "-.->"
		}
		if label != "" {
			line += "|" + mermaidText(label) + "|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", from, line, to)
	})
	return term.WriteAll(w, b.String())
}

// Dot writes the plan in Graphviz' language.
func (p *Plan) Dot(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph clan {\n  node [fontname=\"sans-serif\"];\n")
	ids := p.draw(func(id, text, kind string) {
		shape := map[string]string{"type": "box", "agent": "ellipse", "end": "doubleoctagon"}[kind]
		fmt.Fprintf(&b, "  %s [shape=%s, label=\"%s\"];\n", id, shape, dotText(text))
	})
	p.edges(ids, func(from, to, label string, dotted bool) {
		style := ""
		if label != "" {
			style = ` [label="` + dotText(label) + `"]`
		}
		if dotted {
			style += " [style=dashed]"
		}
		fmt.Fprintf(&b, "  %s -> %s%s;\n", from, to, style)
	})
	b.WriteString("}\n")
	return term.WriteAll(w, b.String())
}

// draw calls node with each type and agent, and returns their names in the drawing.
func (p *Plan) draw(node func(id, text, kind string)) map[string]string {
	ids := map[string]string{}
	for i, t := range p.Types {
		ids["type "+t.Name] = fmt.Sprintf("t%d", i+1)
		text, kind := t.Name, "type"
		if t.Gate {
			text += " (gate)"
		}
		if len(t.Makers) > 0 && !t.Claimed() {
			kind = "end"
		}
		node(ids["type "+t.Name], text, kind)
	}
	for i, a := range p.Agents {
		ids["agent "+a.Agent] = fmt.Sprintf("a%d", i+1)
		node(ids["agent "+a.Agent], a.Agent, "agent")
	}
	return ids
}

// edges calls edge with each way: from types to agents by their bids, and from agents to
// the types that they make. Reviews are dotted.
func (p *Plan) edges(ids map[string]string, edge func(from, to, label string, dotted bool)) {
	for _, t := range p.Types {
		for _, name := range t.Review {
			edge(ids["type "+t.Name], ids["agent "+name], "review", true)
		}
		for _, s := range p.steps {
			if s.from == t.Name {
				edge(ids["type "+t.Name], ids["agent "+s.agent.Agent], s.bid, false)
			}
		}
	}
	for _, a := range p.Agents {
		for _, made := range a.Makes {
			edge(ids["agent "+a.Agent], ids["type "+made], "", false)
		}
	}
}
