package chart

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role/words"
	"sett/roles/view"
	"sett/roles/view/lineage"
)

// glyphs are the characters that draw a tree.
type glyphs struct{ rail, gap, branch, end, reference, more, arrow string }

var (
	lineGlyphs = glyphs{"│  ", "   ", "├─ ", "└─ ", "↑ ", "…", "→ "}
	asciiOnes  = glyphs{"|  ", "   ", "|- ", "`- ", "^ ", "...", "-> "}
)

// glyphsOf returns the glyphs for this terminal: lines if the locale is UTF-8, else ASCII.
func glyphsOf(a *term.Terminal) glyphs {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := a.Getenv(name); v != "" {
			if v = strings.ToUpper(v); strings.Contains(v, "UTF-8") || strings.Contains(v, "UTF8") {
				return lineGlyphs
			}
			break
		}
	}
	return asciiOnes
}

const (
	treeWidth  = 100 // columns that a line should fit in
	treeIndent = 24  // levels that are indented; deeper ones are drawn below the tree
)

// Tree draws a graph for people, with depth levels; 0: all.
func Tree(a *term.Terminal, g *lineage.Graph, depth int) error {
	t := &treeText{Terminal: a, Graph: g, glyphs: glyphsOf(a)}
	left := 0
	g.Walk(func(s lineage.Line) lineage.WalkOn {
		left += s.Hidden
		t.line(s)
		switch {
		case depth > 0 && s.Depth >= depth:
			return lineage.Past
		case len(s.Rails) >= treeIndent:
			return lineage.Later
		}
		return lineage.Into
	})
	if _, err := io.WriteString(a.Stdout, t.b.String()); err != nil {
		return fmt.Errorf("print: %w", err)
	}
	if left > 0 {
		a.Sayf("sett: %s deeper than %s left out (--depth 0 shows all)\n", words.Count(left, "artefact"), words.Count(depth, "level"))
	}
	return nil
}

type treeText struct {
	*term.Terminal
	*lineage.Graph
	glyphs glyphs
	b      strings.Builder
}

// line writes one line of the tree.
func (t *treeText) line(s lineage.Line) {
	var prefix strings.Builder
	for _, r := range s.Rails {
		if r == '|' {
			prefix.WriteString(t.glyphs.rail)
		} else {
			prefix.WriteString(t.glyphs.gap)
		}
	}
	switch {
	case s.Root:
	case s.Last:
		prefix.WriteString(t.glyphs.end)
	default:
		prefix.WriteString(t.glyphs.branch)
	}
	n := t.Nodes[s.Node]
	name := n.Name()
	switch {
	case s.Hidden > 0:
		t.b.WriteString(t.Paint(prefix.String(), term.Dim) + t.Paint(fmt.Sprintf("%s %d more", t.glyphs.more, s.Hidden), term.Dim) + "\n")
	case s.Continued:
		t.b.WriteString("\n" + t.Paint(name+", continued", term.Dim) + "\n")
	case s.Reference:
		t.b.WriteString(t.Paint(prefix.String(), term.Dim) + t.Paint(t.glyphs.reference+name, term.Dim) + "\n")
	default:
		t.b.WriteString(t.Paint(prefix.String(), term.Dim))
		t.node(n, treeWidth-utf8.RuneCountInString(prefix.String()))
	}
}

// node writes an artefact in one line of room columns. Its gist is cut to fit.
func (t *treeText) node(n *lineage.GraphNode, room int) {
	as := nodeStyle(n)
	title, final := strings.CutSuffix(n.Title, view.FinalResult)
	parts := []term.Cell{{Text: title, As: as}, {Text: words.Short(n.ID), As: term.Accent}}
	if final {
		parts = append(parts, term.Cell{Text: strings.TrimSpace(view.FinalResult), As: as})
	}
	if n.Maker != "" {
		parts = append(parts, term.Cell{Text: " " + n.Maker, As: term.Plain})
	}
	if state := n.State(); state != "" {
		parts = append(parts, term.Cell{Text: " " + state, As: as})
	}
	for _, p := range parts {
		room -= utf8.RuneCountInString(p.Text) + 1
	}
	if said := n.Says; n.Unreadable == "" && said != "" && room > 12 {
		parts = append(parts, term.Cell{Text: " " + words.Shorten(said, room-1), As: term.Dim})
	}
	for i, p := range parts {
		if i > 0 {
			t.b.WriteString(" ")
		}
		t.b.WriteString(t.Paint(p.Text, p.As))
	}
	t.b.WriteString("\n")
}

func nodeStyle(n *lineage.GraphNode) term.Style {
	switch {
	case n.Unreadable != "", n.Altered, n.StructuralType == blackboard.Failure && n.Status != lineage.StateRetried:
		return term.Bad
	case n.StructuralType == blackboard.Terminal, n.Verdict == blackboard.Approve:
		return term.Good
	case n.Verdict == blackboard.Feedback, n.Status == lineage.StateHeld, n.StructuralType == blackboard.Question && n.Status == lineage.StateOpen:
		return term.Warn
	}
	return term.Plain
}
