package cli

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"sett/blackboard"
)

// glyphs are what a tree is drawn with.
type glyphs struct{ rail, gap, branch, end, reference, more string }

var (
	lineGlyphs = glyphs{"│  ", "   ", "├─ ", "└─ ", "↑ ", "…"}
	asciiOnes  = glyphs{"|  ", "   ", "|- ", "`- ", "^ ", "..."}
)

// glyphs returns what this terminal can show: lines where the locale is UTF-8.
func (a *app) glyphs() glyphs {
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
	treeIndent = 24  // levels that are indented; deeper ones go on below
)

// tree draws the graph for people, so many levels of it; 0: all.
func (g *graph) tree(a *app, depth int) error {
	t := &treeText{app: a, graph: g, glyphs: a.glyphs()}
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
		a.sayf("sett: %s deeper than %s left out (--depth 0 shows all)\n", count(left, "artefact"), count(depth, "level"))
	}
	return nil
}

type treeText struct {
	*app
	*graph
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
	name := n.name()
	switch {
	case s.hidden > 0:
		t.b.WriteString(t.paint(prefix.String(), dim) + t.paint(fmt.Sprintf("%s %d more", t.glyphs.more, s.hidden), dim) + "\n")
	case s.continued:
		t.b.WriteString("\n" + t.paint(name+", continued", dim) + "\n")
	case s.reference:
		t.b.WriteString(t.paint(prefix.String(), dim) + t.paint(t.glyphs.reference+name, dim) + "\n")
	default:
		t.b.WriteString(t.paint(prefix.String(), dim))
		t.node(n, treeWidth-utf8.RuneCountInString(prefix.String()))
	}
}

// node writes an artefact in one line of so many columns, its gist as far as there
// is room.
func (t *treeText) node(n *graphNode, room int) {
	as := nodeStyle(n)
	parts := []cell{{n.title, as}, {short(n.ID), accent}}
	if n.maker != "" {
		parts = append(parts, cell{" " + n.maker, plain})
	}
	if state := n.state(); state != "" {
		parts = append(parts, cell{" " + state, as})
	}
	for _, p := range parts {
		room -= utf8.RuneCountInString(p.text) + 1
	}
	if said := n.Says; n.Unreadable == "" && said != "" && room > 12 {
		parts = append(parts, cell{" " + shorten(said, room-1), dim})
	}
	for i, p := range parts {
		if i > 0 {
			t.b.WriteString(" ")
		}
		t.b.WriteString(t.paint(p.text, p.as))
	}
	t.b.WriteString("\n")
}

// state is how an artefact is, for people.
func (n *graphNode) state() string {
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

func nodeStyle(n *graphNode) style {
	switch {
	case n.Unreadable != "", n.StructuralType == blackboard.Failure && n.Status != stateRetried:
		return bad
	case n.StructuralType == blackboard.Terminal, n.Verdict == blackboard.Approve:
		return good
	case n.Verdict == blackboard.Feedback, n.Status == stateHeld, n.StructuralType == blackboard.Question && n.Status == stateOpen:
		return warn
	}
	return plain
}
