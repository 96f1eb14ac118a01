package ttytest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/rivo/uniseg"
)

// Grid is a terminal of fixed lines that a program draws on, such as a vt100. It obeys the
// sequences that such a program sends, shows no colour, and notes unknown sequences.
type Grid struct {
	mu            sync.Mutex
	columns, rows int
	cells         [][]string
	y, x          int
	top, bottom   int      // the lines that scroll
	insert        bool     // text moves the rest of its line on
	rest          string   // an unfinished sequence
	Unknown       []string // sequences that it does not obey
	Alternate     bool     // the second screen is shown
	Hidden        bool     // the cursor is
}

// NewGrid returns an empty terminal.
func NewGrid(columns, rows int) *Grid {
	g := &Grid{}
	g.Resize(columns, rows)
	return g
}

// Resize changes its size, and clears it.
func (g *Grid) Resize(columns, rows int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.columns, g.rows, g.y, g.x = columns, rows, 0, 0
	g.top, g.bottom = 0, rows-1
	g.cells = nil
	for range rows {
		g.cells = append(g.cells, make([]string, columns))
	}
}

// Write shows a text.
func (g *Grid) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	text := g.rest + string(b)
	g.rest = ""
	for text != "" {
		switch c := text[0]; {
		case c == '\x1b':
			n := sequence(text)
			if n == 0 {
				g.rest = text
				return len(b), nil
			}
			g.obey(text[:n])
			text = text[n:]
		case c == '\r':
			g.x, text = 0, text[1:]
		case c == '\n':
			g.down()
			text = text[1:]
		case c == '\b':
			g.x, text = max(g.x-1, 0), text[1:]
		case c == '\t':
			g.x, text = min(g.x/8*8+8, g.columns-1), text[1:]
		case c < ' ':
			g.Unknown = append(g.Unknown, strconv.Quote(text[:1]))
			text = text[1:]
		default:
			cluster, rest, width, _ := uniseg.FirstGraphemeClusterInString(text, -1)
			if g.x+width > g.columns {
				g.x = 0
				g.down()
			}
			if line := g.cells[g.y]; g.insert {
				copy(line[g.x+width:], slices.Clone(line[g.x:]))
			}
			g.cells[g.y][g.x] = cluster
			for i := 1; i < width; i++ {
				g.cells[g.y][g.x+i] = "\x00"
			}
			g.x, text = g.x+width, rest
		}
	}
	return len(b), nil
}

func (g *Grid) down() {
	if g.y == g.bottom {
		g.scroll(g.top, g.bottom)
		return
	}
	g.y = min(g.y+1, g.rows-1)
}

// scroll takes a line out, and puts an empty one in at another place.
func (g *Grid) scroll(out, in int) {
	g.cells = slices.Insert(slices.Delete(g.cells, out, out+1), in, make([]string, g.columns))
}

// sequence is the length of the sequence that a text begins with; 0: it is unfinished.
func sequence(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if text[i] >= '@' && text[i] <= '~' {
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_':
		for _, end := range []string{"\x07", "\x1b\\"} {
			if at := strings.Index(text, end); at > 0 {
				return at + len(end)
			}
		}
		return 0
	}
	return 2
}

func (g *Grid) obey(s string) {
	switch {
	case s == "\x1bM" && g.y == g.top:
		g.scroll(g.bottom, g.top)
		return
	case s == "\x1bM":
		g.y = max(g.y-1, 0)
		return
	case s[1] != '[':
		g.Unknown = append(g.Unknown, strconv.Quote(s))
		return
	}
	body, command := s[2:len(s)-1], s[len(s)-1]
	var n, m int
	first, second, _ := strings.Cut(body, ";")
	_, _ = fmt.Sscan(first, &n)
	_, _ = fmt.Sscan(second, &m)
	by := max(n, 1)
	switch {
	case command == 'm', strings.ContainsAny(body, "$>=<"), command == 'u', command == 'c':
	case body == "?5" && command == 'W': // a tab stop every eight columns
	case command == 'r':
		g.top, g.bottom = by-1, g.rows-1
		if m > 0 {
			g.bottom = min(m, g.rows) - 1
		}
		g.y, g.x = 0, 0
	case command == 'L' || command == 'M':
		for range by {
			if command == 'L' {
				g.scroll(g.bottom, g.y)
			} else {
				g.scroll(g.y, g.bottom)
			}
		}
	case command == 'Z':
		g.x = max((g.x-1)/8*8-8*(by-1), 0)
	case command == 'h' || command == 'l':
		g.mode(body, command == 'h')
	case command == 'A':
		g.y = max(g.y-by, 0)
	case command == 'B':
		g.y = min(g.y+by, g.rows-1)
	case command == 'C':
		g.x = min(g.x+by, g.columns-1)
	case command == 'D':
		g.x = max(g.x-by, 0)
	case command == 'H':
		g.y, g.x = min(by, g.rows)-1, min(max(m, 1), g.columns)-1
	case command == 'K' || command == 'J':
		g.erase(command == 'J', n)
	default:
		g.Unknown = append(g.Unknown, strconv.Quote(s))
	}
}

// erase empties a part of the line, or of the screen.
func (g *Grid) erase(screen bool, part int) {
	switch {
	case screen && part == 0:
		g.clear(g.y, g.x)
	case screen:
		g.clear(0, 0)
	case part == 0:
		clear(g.cells[g.y][min(g.x, g.columns):])
	case part == 1:
		clear(g.cells[g.y][:min(g.x+1, g.columns)])
	default:
		clear(g.cells[g.y])
	}
}

// mode turns a mode on or off.
func (g *Grid) mode(name string, on bool) {
	switch name {
	case "4":
		g.insert = on
	case "?1049":
		g.Alternate = on
		g.clear(0, 0)
	case "?25":
		g.Hidden = !on
	}
}

// clear empties all from a place on.
func (g *Grid) clear(y, x int) {
	clear(g.cells[y][min(x, g.columns):])
	for _, line := range g.cells[y+1:] {
		clear(line)
	}
}

// String is all that it shows, without blanks at the ends of lines.
func (g *Grid) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	var out strings.Builder
	for _, line := range g.cells {
		var text strings.Builder
		for _, cell := range line {
			switch cell {
			case "":
				text.WriteByte(' ')
			case "\x00":
			default:
				text.WriteString(cell)
			}
		}
		out.WriteString(strings.TrimRight(text.String(), " ") + "\n")
	}
	return out.String()
}
