package lineage

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
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

// Mermaid writes the graph as a Mermaid flowchart. Nodes are named by their index,
// oldest first, because an id in corrupt data may be any text.
func (g *Graph) Mermaid(w io.Writer) error {
	var b strings.Builder
	b.WriteString("flowchart TD\n")
	for i, n := range g.Nodes {
		shape, ok := mermaidShapes[n.StructuralType]
		if !ok {
			shape = [2]string{"[", "]"}
		}
		lines := n.label()
		for j, line := range lines {
			lines[j] = mermaidText(line)
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
	return term.WriteAll(w, b.String())
}

// mermaidText makes any text safe within a quoted label. It writes all characters but
// letters, digits and a few harmless signs as #CODE;. Mermaid shows that as the
// character, and never takes it for markup, an entity or a directive.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range role.Clean(s) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,:_-+/()=!?'@", r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "#%d;", r)
		}
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

// Dot writes the graph in Graphviz' language. Nodes are named by their ids.
func (g *Graph) Dot(w io.Writer) error {
	var b strings.Builder
	b.WriteString("digraph sett {\n  node [fontname=\"sans-serif\"];\n")
	for _, n := range g.Nodes {
		shape := dotShapes[n.StructuralType]
		if shape == "" {
			shape = "plain"
		}
		lines := n.label()
		for j, line := range lines {
			lines[j] = dotText(line)
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
	return term.WriteAll(w, b.String())
}

// dotText makes any text safe within a quoted label. There a quote ends the label, a
// backslash starts a command, and an ampersand starts an entity.
func dotText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(role.Clean(s))
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
	if state := n.state(); state != "" {
		who = strings.TrimPrefix(who+", "+state, ", ")
	}
	for _, line := range []string{who, words.Shorten(n.Says, width)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
