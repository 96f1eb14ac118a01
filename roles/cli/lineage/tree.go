package lineage

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
	"sett/roles/cli/term"
	"sett/roles/role/words"
	"sett/roles/view"
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

// Tree draws the graph for people, with depth levels; 0: all.
func (g *Graph) Tree(a *term.Terminal, depth int) error {
	t := &treeText{Terminal: a, Graph: g, glyphs: glyphsOf(a)}
	left := 0
	g.walk(func(s step) walkOn {
		left += s.hidden
		t.line(s)
		switch {
		case depth > 0 && s.depth >= depth:
			return walkPast
		case len(s.rails) >= treeIndent:
			return walkLater
		}
		return walkInto
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
	*Graph
	glyphs glyphs
	b      strings.Builder
}

// line writes one line of the tree.
func (t *treeText) line(s step) {
	var prefix strings.Builder
	for _, r := range s.rails {
		if r == '|' {
			prefix.WriteString(t.glyphs.rail)
		} else {
			prefix.WriteString(t.glyphs.gap)
		}
	}
	switch {
	case s.root:
	case s.last:
		prefix.WriteString(t.glyphs.end)
	default:
		prefix.WriteString(t.glyphs.branch)
	}
	n := t.Nodes[s.node]
	name := n.Name()
	switch {
	case s.hidden > 0:
		t.b.WriteString(t.Paint(prefix.String(), term.Dim) + t.Paint(fmt.Sprintf("%s %d more", t.glyphs.more, s.hidden), term.Dim) + "\n")
	case s.continued:
		t.b.WriteString("\n" + t.Paint(name+", continued", term.Dim) + "\n")
	case s.reference:
		t.b.WriteString(t.Paint(prefix.String(), term.Dim) + t.Paint(t.glyphs.reference+name, term.Dim) + "\n")
	default:
		t.b.WriteString(t.Paint(prefix.String(), term.Dim))
		t.node(n, treeWidth-utf8.RuneCountInString(prefix.String()))
	}
}

// node writes an artefact in one line of room columns. Its gist is cut to fit.
func (t *treeText) node(n *GraphNode, room int) {
	as := nodeStyle(n)
	title, final := strings.CutSuffix(n.Title, view.FinalResult)
	parts := []term.Cell{{Text: title, As: as}, {Text: words.Short(n.ID), As: term.Accent}}
	if final {
		parts = append(parts, term.Cell{Text: strings.TrimSpace(view.FinalResult), As: as})
	}
	if n.Maker != "" {
		parts = append(parts, term.Cell{Text: " " + n.Maker, As: term.Plain})
	}
	if state := n.state(); state != "" {
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

// state is the state of an artefact, in words for people.
func (n *GraphNode) state() string {
	switch {
	case n.Verdict == blackboard.Approve:
		return "approves"
	case n.Verdict == blackboard.Feedback:
		return "rejects"
	case n.Status == stateHeld:
		return "waits for approval"
	}
	return strings.ReplaceAll(n.Status, "_", " ")
}

func nodeStyle(n *GraphNode) term.Style {
	switch {
	case n.Unreadable != "", n.StructuralType == blackboard.Failure && n.Status != stateRetried:
		return term.Bad
	case n.StructuralType == blackboard.Terminal, n.Verdict == blackboard.Approve:
		return term.Good
	case n.Verdict == blackboard.Feedback, n.Status == stateHeld, n.StructuralType == blackboard.Question && n.Status == stateOpen:
		return term.Warn
	}
	return term.Plain
}
