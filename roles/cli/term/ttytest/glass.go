// Package ttytest has a terminal for tests: it shows the text that a person would see.
package ttytest

import (
	"fmt"
	"strings"
)

// Glass is a terminal that breaks its lines anew when its width changes. It obeys the
// characters that Sett sends, and shows a colour as nothing.
type Glass struct {
	Columns, Rows int
	Writes        int      // how often something was written
	lines         [][]rune // a row that is full goes on in the next
	line, at      int
}

// NewGlass returns an empty terminal.
func NewGlass(columns int) *Glass {
	return &Glass{Columns: columns, Rows: 24, lines: [][]rune{nil}}
}

// Write shows a text.

func (g *Glass) Write(b []byte) (int, error) {
	g.Writes++
	text := []rune(string(b))
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\r':
			g.at = g.at / g.Columns * g.Columns
		case '\n':
			g.line, g.at = g.line+1, 0
			if g.line == len(g.lines) {
				g.lines = append(g.lines, nil)
			}
		case '\x1b':
			end := i + 2
			for text[end] < '@' {
				end++
			}
			n := 0
			_, _ = fmt.Sscan(string(text[i+2:end]), &n)
			g.obey(text[end], n)
			i = end
		default:
			for len(g.lines[g.line]) <= g.at {
				g.lines[g.line] = append(g.lines[g.line], ' ')
			}
			g.lines[g.line][g.at] = c
			g.at++
		}
	}
	return len(b), nil
}

func (g *Glass) obey(command rune, n int) {
	switch command {
	case 'A':
		for range n {
			if g.at >= g.Columns { // within a line that goes on
				g.at -= g.Columns
				continue
			}
			g.line--
			g.at += max(len(g.lines[g.line])-1, 0) / g.Columns * g.Columns
		}
	case 'J':
		g.lines[g.line] = g.lines[g.line][:min(g.at, len(g.lines[g.line]))]
		g.lines = g.lines[:g.line+1]
	}
}

// String is all that it shows, and has shown above.
func (g *Glass) String() string {
	var all []string
	for _, l := range g.lines {
		all = append(all, string(l))
	}
	return strings.Join(all, "\n")
}
