package flow

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/view/diagram"
)

// Plan is the clan before anything runs: types of artefacts, and the agents that make
// something of them. The names of its fields are part of the interface.
type Plan struct {
	config.Flow
	Agents []Agent `json:"agents"`
	Ends   []End   `json:"ends"`   // final results that a goal may lead to
	Stalls []Stall `json:"stalls"` // places where work may stop before a final result

	Walked *Walked `json:"walked,omitempty"` // how often and how long, by the ledger; absent: it was not asked for

	Land *config.Land `json:"land,omitempty"` // final results reach a branch by themselves; absent: they do not

	Steps []Step   `json:"-"` // of the types, in order
	Asks  []string `json:"-"` // agents with their models
}

// Agent is an agent and its results.
type Agent struct {
	Agent   string   `json:"agent"`
	Adapter string   `json:"adapter"`
	Makes   []string `json:"makes"`           // none: it does not say, or only reviews
	MayEnd  bool     `json:"may_end"`         // a result of it may be final
	Unknown bool     `json:"any_type"`        // it works, and names no type of its results
	Model   string   `json:"model,omitempty"` // the model that its program may ask, as sett.yml names it
}

// End is a way to a final result.
type End struct {
	Agent string `json:"agent"`
	Type  string `json:"type"`    // of the result; empty: the agent does not say
	Sure  bool   `json:"certain"` // each success is final; else its program chooses
}

// Stall is a place where work may stop.
type Stall struct {
	Type string `json:"type"`
	Why  string `json:"why"`
}

// Step is an agent's work on a type.
type Step struct {
	From  string
	Bid   string // parallel or exclusive, or script or model where that decides
	Agent Agent
	Final bool // each success is final
}

// Of draws a configuration's flow.
func Of(c *config.Config) *Plan {
	p := &Plan{Flow: *c.Flow(), Agents: []Agent{}, Ends: []End{}, Stalls: []Stall{}, Land: c.Land}
	agents := map[string]Agent{}
	for _, a := range c.Agents {
		kind := a.Adapter.Kind
		if kind == "" {
			kind = config.AdapterJSON
		}
		agents[a.Name] = Agent{Agent: a.Name, Adapter: kind, Makes: append([]string{}, a.Makes()...), MayEnd: a.MayEnd(), Unknown: slices.Contains(p.Undeclared, a.Name)}
		if m, ok := c.ModelOf(a); ok {
			with := agents[a.Name]
			with.Model = m.Name
			agents[a.Name] = with
			p.Asks = append(p.Asks, fmt.Sprintf("%s: %s (%s, %s at %s)", a.Name, m.Name, m.API, m.Model, m.BaseURL))
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
				final, bid := a.Adapter.Terminal && way.bid == "exclusive", way.bid
				if bid == "script" && a.BidsByModel(t.Name) {
					bid = "model"
				}
				p.Steps = append(p.Steps, Step{t.Name, bid, agents[name], final})
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
	for _, s := range p.Steps {
		if !reached[s.From] || !s.Agent.MayEnd || s.Agent.Adapter != config.AdapterJSON && !s.Final {
			continue
		}
		sure := s.Final
		types := s.Agent.Makes
		if len(types) == 0 {
			types = []string{""}
		}
		for _, made := range types {
			if end := (End{s.Agent.Agent, made, sure}); !slices.Contains(p.Ends, end) {
				p.Ends = append(p.Ends, end)
			}
		}
	}
	slices.SortStableFunc(p.Ends, func(a, b End) int {
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
		p.Stalls = append(p.Stalls, Stall{t.Name, fmt.Sprintf(format, args...)})
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
	if t.Lands || t.Settles {
		return
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

// Made names the results of a step.
func (s Step) Made() string {
	said := strings.Join(s.Agent.Makes, " or ")
	switch {
	case s.Agent.Unknown:
		return "any type"
	case s.Final:
		return said + ", final"
	case s.Agent.MayEnd && s.Agent.Adapter == config.AdapterJSON:
		return said + ", may be final"
	}
	return said
}

// Mermaid returns the plan as a Mermaid flowchart: types are boxes, agents are round.
func (p *Plan) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	ids := p.draw(func(id, text, kind string) {
		shape := map[string][2]string{"type": {"[", "]"}, "agent": {"(", ")"}, "end": {"([", "])"}}[kind]
		fmt.Fprintf(&b, "  %s%s\"%s\"%s\n", id, shape[0], diagram.MermaidText(text), shape[1])
	})
	p.edges(ids, func(from, to, label string, dotted bool) {
		line := "-->"
		if dotted {
			line = "-.->"
		}
		if label != "" {
			line += "|" + diagram.MermaidText(label) + "|"
		}
		fmt.Fprintf(&b, "  %s %s %s\n", from, line, to)
	})
	return b.String()
}

// Dot returns the plan in Graphviz' language.
func (p *Plan) Dot() string {
	var b strings.Builder
	b.WriteString("digraph clan {\n  node [fontname=\"sans-serif\"];\n")
	ids := p.draw(func(id, text, kind string) {
		shape := map[string]string{"type": "box", "agent": "ellipse", "end": "doubleoctagon"}[kind]
		fmt.Fprintf(&b, "  %s [shape=%s, label=\"%s\"];\n", id, shape, diagram.DotText(text))
	})
	p.edges(ids, func(from, to, label string, dotted bool) {
		style := ""
		if label != "" {
			style = ` [label="` + diagram.DotText(label) + `"]`
		}
		if dotted {
			style += " [style=dashed]"
		}
		fmt.Fprintf(&b, "  %s -> %s%s;\n", from, to, style)
	})
	b.WriteString("}\n")
	return b.String()
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
	if p.Land != nil {
		ids[branchNode] = "b1"
		node("b1", "branch "+p.Land.Onto, "end")
	}
	return ids
}

// edges calls edge with each way: from types to agents by their bids, and from agents to
// the types that they make. Reviews are dotted.
func (p *Plan) edges(ids map[string]string, edge func(from, to, label string, dotted bool)) {
	for _, t := range p.Types {
		for _, name := range t.Review {
			edge(ids["type "+t.Name], ids["agent "+name], p.counted("review", t.Name, name, true), true)
		}
		for _, s := range p.Steps {
			if s.From == t.Name {
				edge(ids["type "+t.Name], ids["agent "+s.Agent.Agent], p.counted(s.Bid, t.Name, s.Agent.Agent, false), false)
			}
		}
	}
	for _, a := range p.Agents {
		for _, made := range a.Makes {
			edge(ids["agent "+a.Agent], ids["type "+made], "", false)
		}
	}
	p.landing(ids, edge)
}

// counted is the label of an edge, with its count where there is one.
func (p *Plan) counted(label, name, agent string, review bool) string {
	if p.Walked == nil {
		return label
	}
	return label + ": " + p.Walked.Of(name, agent, review).Says()
}

// landing draws the way of final results to the branch, by a Landing where sett.yml wants one.
func (p *Plan) landing(ids map[string]string, edge func(from, to, label string, dotted bool)) {
	if p.Land == nil {
		return
	}
	from := map[string]bool{}
	for _, e := range p.Ends {
		if id := ids["type "+e.Type]; id != "" {
			from[id] = true
		} else {
			from[ids["agent "+e.Agent]] = true
		}
	}
	last := ids["type "+blackboard.TypeLanding]
	for _, id := range slices.Sorted(maps.Keys(from)) {
		if last != "" {
			edge(id, last, "lands", false)
		} else {
			edge(id, ids[branchNode], "lands", false)
		}
	}
	if last != "" {
		edge(last, ids[branchNode], "", false)
	}
}

// branchNode is the name of the branch among the nodes.
const branchNode = "branch"
