package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode"

	"sett/blackboard"
)

// mermaidShapes are what a node's text is put between, by structural type.
var mermaidShapes = map[blackboard.StructuralType][2]string{
	blackboard.Standard: {"[", "]"},
	blackboard.Review:   {"{{", "}}"},
	blackboard.Question: {"[/", "/]"},
	blackboard.Answer:   {`[\`, `\]`},
	blackboard.Failure:  {"[[", "]]"},
	blackboard.Terminal: {"([", "])"},
}

// mermaid writes the graph as a Mermaid flowchart. Nodes are named by their place,
// oldest first: an id in corrupt data may be anything.
func (g *graph) mermaid(w io.Writer) error {
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
	return writeAll(w, b.String())
}

// mermaidText makes any text safe within a quoted label: but for letters, digits
// and the most harmless signs, all are written as #CODE;, which Mermaid shows as
// the character and never takes for markup, an entity or a directive.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range clean(s) {
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

// dot writes the graph in Graphviz' language. Nodes are named by their ids.
func (g *graph) dot(w io.Writer) error {
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
	return writeAll(w, b.String())
}

// dotText makes any text safe within a quoted label: there, a quote ends it, what
// follows a backslash is a command, and what follows an ampersand an entity.
func dotText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(clean(s))
}

// dotID quotes an id. Without a backslash at its end nothing in it but a quote is
// special; ids have neither, but in corrupt data.
func dotID(id string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(clean(id)) + `"`
}

// label is what a node says, in lines: what it is, who made it and how it is, and
// its gist.
func (n *graphNode) label() []string {
	const width = 60
	lines := []string{n.name()}
	who := n.maker
	if state := n.state(); state != "" {
		who = strings.TrimPrefix(who+", "+state, ", ")
	}
	for _, line := range []string{who, shorten(n.Says, width)} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func writeAll(w io.Writer, s string) error {
	if _, err := io.WriteString(w, s); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	return nil
}
