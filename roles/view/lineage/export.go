package lineage

import (
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view/diagram"
)

// mermaidShapes are the brackets around a node's text, by structural type.
var mermaidShapes = map[blackboard.StructuralType][2]string{
	blackboard.Standard: {"[", "]"},
	blackboard.Review:   {"{{", "}}"},
	blackboard.Question: {"[/", "/]"},
	blackboard.Answer:   {`[\`, `\]`},
	blackboard.Failure:  {"[[", "]]"},
	blackboard.Terminal: {"([", "])"},
}

// Mermaid returns the graph as a Mermaid flowchart. Nodes are named by their index,
// oldest first, because an id in corrupt data may be any text.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, n := range g.Nodes {
		shape, ok := mermaidShapes[n.StructuralType]
		if !ok {
			shape = [2]string{"[", "]"}
		}
		lines := n.label()
		for j, line := range lines {
			lines[j] = diagram.MermaidText(line)
		}
		fmt.Fprintf(&b, "  n%d%s\"%s\"%s\n", i+1, shape[0], strings.Join(lines, "<br/>"), shape[1])
	}
	for _, e := range g.Edges {
		arrow := "-->"
		if e.Kind == "version" {
			arrow = "==>"
		}
		fmt.Fprintf(&b, "  n%d %s n%d\n", g.at[e.From]+1, arrow, g.at[e.To]+1)
	}
	return b.String()
}

// dotShapes are Graphviz' shapes by structural type.
var dotShapes = map[blackboard.StructuralType]string{
	blackboard.Standard: "box",
	blackboard.Review:   "hexagon",
	blackboard.Question: "parallelogram",
	blackboard.Answer:   "parallelogram",
	blackboard.Failure:  "octagon",
	blackboard.Terminal: "doubleoctagon",
}

// Dot returns the graph in Graphviz' language. Nodes are named by their ids.
func (g *Graph) Dot() string {
	var b strings.Builder
	b.WriteString("digraph sett {\n  node [fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		shape := dotShapes[n.StructuralType]
		if shape == "" {
			shape = "plain"
		}
		lines := n.label()
		for j, line := range lines {
			lines[j] = diagram.DotText(line)
		}
		fmt.Fprintf(&b, "  %s [shape=%s, label=\"%s\"];\n", dotID(n.ID), shape, strings.Join(lines, `\n`))
	}
	for _, e := range g.Edges {
		kind := ""
		if e.Kind == "version" {
			kind = " [style=bold]"
		}
		fmt.Fprintf(&b, "  %s -> %s%s;\n", dotID(e.From), dotID(e.To), kind)
	}
	b.WriteString("}\n")
	return b.String()
}

// dotID quotes an id. Within the quotes only a quote, and a backslash at the end, are
// special. Only ids in corrupt data have one.
func dotID(id string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(role.Clean(id)) + `"`
}

// label returns the lines of a node's text: its name, its maker and state, and its gist.
func (n *GraphNode) label() []string {
	const width = 60
	lines := []string{n.Name()}
	who := n.Maker
	if state := n.State(); state != "" {
		who = strings.TrimPrefix(who+", "+state, ", ")
	}
	for _, line := range []string{who, words.Shorten(n.Says, width)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// State is the state of an artefact, in words for people.
func (n *GraphNode) State() string {
	switch {
	case n.Altered:
		return "ALTERED"
	case n.Verdict == blackboard.Approve:
		return "approves"
	case n.Verdict == blackboard.Feedback:
		return "rejects"
	case n.Status == StateHeld:
		return "waits for approval"
	}
	return strings.ReplaceAll(n.Status, "_", " ")
}
