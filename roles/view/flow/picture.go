package flow

import (
	"slices"
	"strings"

	"sett/contract/config"
	"sett/roles/view/diagram"
)

// Draw draws the plan: a box for each type, with the agents that review it and the
// places where it may stop, and below it a box for each agent that works on it. A result
// of a type that stands above is named in the agent's box.
func (p *Plan) Draw() *diagram.Picture {
	var g diagram.Graph
	if p.Walked != nil {
		g.Wide = 420 // a count says more than a box has room for
	}
	types := map[string]int{}
	steps := map[int]Step{}
	for _, t := range p.Types {
		node := p.box(t, len(types) == 0)
		node.Title = title(node)
		types[t.Name] = len(g.Nodes)
		g.Nodes = append(g.Nodes, node)
		for _, s := range p.Steps {
			if s.From == t.Name {
				steps[len(g.Nodes)] = s
				g.Edges = append(g.Edges, diagram.Edge{From: types[t.Name], To: len(g.Nodes), Strong: s.Bid == "exclusive"})
				node := diagram.Node{Name: s.Agent.Agent, Text: s.Bid, Class: diagram.Work}
				if p.Walked != nil {
					node.Badges = append(node.Badges, diagram.Badge{Text: p.Walked.Of(t.Name, s.Agent.Agent, false).Says(), Class: diagram.Good})
				}
				g.Nodes = append(g.Nodes, node)
			}
		}
	}
	for at := range g.Nodes {
		s, ok := steps[at]
		if !ok {
			continue
		}
		for _, made := range s.Agent.Makes {
			if to, ok := types[made]; ok && to > at {
				g.Edges = append(g.Edges, diagram.Edge{From: at, To: to})
			} else {
				g.Nodes[at].Badges = append(g.Nodes[at].Badges, diagram.Badge{Text: "makes " + made, Class: "dim"})
			}
		}
		if s.Agent.Unknown {
			g.Nodes[at].Badges = append(g.Nodes[at].Badges, diagram.Badge{Text: "may make any type", Class: "dim"})
		}
		if slices.ContainsFunc(p.Ends, func(e End) bool { return e.Agent == s.Agent.Agent }) {
			g.Nodes[at].Badges = append(g.Nodes[at].Badges, diagram.Badge{Text: "may end the goal", Class: diagram.Good})
		}
		g.Nodes[at].Title = title(g.Nodes[at])
	}
	return g.Draw()
}

// box is the box of a type. The first one is made by a person.
func (p *Plan) box(t *config.FlowType, first bool) diagram.Node {
	node := diagram.Node{Name: t.Name, Text: "made by " + strings.Join(t.Makers, ", "), Class: diagram.Plain}
	switch {
	case len(t.Makers) == 0 && first:
		node.Text = "made by you"
	case t.Settles:
		node.Text = "made where commits do not merge"
	case len(t.Makers) == 0 && len(p.Undeclared) > 0:
		node.Text = "made by an agent that says no makes"
	case len(t.Makers) == 0:
		node.Text = "made by nobody"
	case !t.Claimed():
		node.Class = diagram.Good
	}
	if t.Gate {
		node.Badges = append(node.Badges, diagram.Badge{Text: p.gate(t.Name), Class: diagram.Warn})
	}
	for _, name := range t.Review {
		node.Badges = append(node.Badges, diagram.Badge{Text: p.counted("review: "+name, t.Name, name, true), Class: "dim"})
	}
	for _, s := range p.Stalls {
		if s.Type == t.Name && !t.Gate {
			node.Badges = append(node.Badges, diagram.Badge{Text: "may stall: " + s.Why, Class: diagram.Warn})
		}
	}
	return node
}

// gate says that a type has one, with its count where there is one.
func (p *Plan) gate(name string) string {
	const text = "waits for approval"
	if p.Walked == nil {
		return text
	}
	return text + ": " + p.Walked.Gate(name).Says()
}

// title is the tooltip of a box: all that it says, whole.
func title(n diagram.Node) string {
	all := []string{n.Name}
	if n.Text != "" {
		all = append(all, n.Text)
	}
	for _, b := range n.Badges {
		all = append(all, b.Text)
	}
	return strings.Join(all, "; ")
}
