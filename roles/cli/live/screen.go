// Package live shows on a terminal how the work of a goal goes on: lines that stay, cut to
// the terminal's width, and below them a few that are redrawn in place. It reads no
// blackboard.
package live

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"sett/roles/cli/term"
)

// The size of a terminal that does not tell it.
const (
	usualColumns = 80
	usualRows    = 24
)

// Screen prints lines above others that it redraws in place. A nil Screen is none.
type Screen struct {
	out   io.Writer
	size  func() (columns, rows int)
	still bool // nothing is redrawn: the terminal is too simple for that

	mu    sync.Mutex
	drawn []string // the lines at the bottom, as they are on the terminal
	width int      // the columns there were then
	held  bool     // somebody else writes: there is no bottom
}

// NewScreen returns the screen of a terminal. A still one, such as TERM=dumb asks for, has
// no bottom.
func NewScreen(out io.Writer, still bool) *Screen {
	return &Screen{out: out, size: func() (int, int) { return term.Size(out) }, still: still}
}

// Still says whether nothing is redrawn.
func (s *Screen) Still() bool { return s.still }

// Columns is the width of the terminal now.
func (s *Screen) Columns() int {
	columns, _ := s.measure()
	return columns
}

func (s *Screen) measure() (columns, rows int) {
	columns, rows = s.size()
	if columns <= 0 {
		columns = usualColumns
	}
	if rows <= 0 {
		rows = usualRows
	}
	return columns, rows
}

// Write prints text that stays, above the bottom, which comes back when it is drawn next.
func (s *Screen) Write(text []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	whole := append([]byte(s.clear()), text...)
	if _, err := s.out.Write(whole); err != nil {
		return 0, err
	}
	return len(text), nil
}

// Bottom draws the lines at the bottom, if they or the terminal's width have changed. A
// line that is too wide for the terminal is cut, so styles are set by paint. Lines that do
// not fit are left out, the last ones first.
func (s *Screen) Bottom(lines []Styled, paint func(string, term.Style) string) error {
	if s == nil || s.still {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held {
		return nil
	}
	columns, rows := s.measure()
	var next, shown []string
	for _, l := range lines[:min(len(lines), max(rows-2, 1))] {
		plain, painted := l.Cut(columns-1, paint)
		next, shown = append(next, plain), append(shown, painted)
	}
	if columns == s.width && strings.Join(next, "\n") == strings.Join(s.drawn, "\n") {
		return nil
	}
	text := s.clear() + strings.Join(shown, "\n")
	s.drawn, s.width = next, columns
	if text == "" {
		return nil
	}
	_, err := io.WriteString(s.out, text)
	return err
}

// Hold removes the bottom until Release: somebody else writes on the terminal.
func (s *Screen) Hold() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = true
	_, _ = io.WriteString(s.out, s.clear()) // the next write tells that the terminal is gone
}

// Release allows a bottom again.
func (s *Screen) Release() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
}

// clear returns the text that removes the bottom. A terminal that has become narrower has
// broken its lines.
func (s *Screen) clear() string {
	if len(s.drawn) == 0 {
		return ""
	}
	columns, _ := s.measure()
	up := -1
	for _, line := range s.drawn {
		up += max((term.Width(line)+columns-1)/columns, 1)
	}
	s.drawn = nil
	if up == 0 {
		return "\r\x1b[J"
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", up)
}

// Styled is a line of pieces in several styles. Its texts are clean.
type Styled []Piece

// Piece is a text in one style.
type Piece struct {
	Text string
	As   term.Style
}

// Cut shortens the line to so many columns, and returns it without and with its styles.
func (l Styled) Cut(columns int, paint func(string, term.Style) string) (plain, painted string) {
	for _, p := range l {
		text := term.Cut(p.Text, columns-term.Width(plain))
		plain, painted = plain+text, painted+paint(text, p.As)
		if text != p.Text {
			break
		}
	}
	return plain, painted
}
