package live

import (
	"strings"
	"testing"

	"sett/roles/cli/term"
	"sett/roles/cli/term/ttytest"
)

func plain(s string, _ term.Style) string { return s }

func bottomOf(lines ...string) []Styled {
	var all []Styled
	for _, l := range lines {
		all = append(all, Styled{{l, term.Plain}})
	}
	return all
}

func onGlass(columns int) (*Screen, *ttytest.Glass) {
	g := ttytest.NewGlass(columns)
	s := NewScreen(g, false)
	s.size = func() (int, int) { return g.Columns, g.Rows }
	return s, g
}

// TestScreen: what stays stands above what is redrawn, however wide the terminal becomes.
func TestScreen(t *testing.T) {
	s, g := onGlass(20)
	see := func(want string) {
		t.Helper()
		if got := g.String(); got != want {
			t.Errorf("shown\n%s\nwant\n%s", got, want)
		}
	}
	draw := func(lines ...string) {
		t.Helper()
		if err := s.Bottom(bottomOf(lines...), plain); err != nil {
			t.Fatal(err)
		}
	}
	write := func(text string) {
		t.Helper()
		if _, err := s.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	write("first\n")
	draw("vet is running (1s)", "lint is running (1s) and says something long")
	see("first\nvet is running (1s)\nlint is running (1…")
	write("second\n")
	see("first\nsecond\n")
	draw("vet is running (2s)", "lint is running")
	see("first\nsecond\nvet is running (2s)\nlint is running")
	before := g.Writes
	draw("vet is running (2s)", "lint is running")
	if g.Writes != before {
		t.Error("the same is drawn again")
	}
	for _, columns := range []int{7, 40, 12, 100} { // the old lines break, or join again
		g.Columns = columns
		draw("vet is running (2s)", "x")
		see("first\nsecond\n" + term.Cut("vet is running (2s)", columns-1) + "\nx")
	}
	g.Columns = 5
	write("third\n")
	see("first\nsecond\nthird\n")
	g.Columns = 20
	draw("x")
	s.Hold()
	see("first\nsecond\nthird\n")
	draw("y")
	see("first\nsecond\nthird\n")
	s.Release()
	draw("y")
	draw()
	see("first\nsecond\nthird\n")
	g.Rows = 4
	draw("1", "2", "3", "4")
	see("first\nsecond\nthird\n1\n2")
}

// A still screen, and none at all, have no bottom.
func TestStillScreen(t *testing.T) {
	g := ttytest.NewGlass(20)
	s := NewScreen(g, true)
	if err := s.Bottom(bottomOf("x"), plain); err != nil || g.Writes != 0 {
		t.Errorf("%d writes, %v", g.Writes, err)
	}
	var none *Screen
	none.Hold()
	none.Release()
	if err := none.Bottom(bottomOf("x"), plain); err != nil {
		t.Error(err)
	}
}

func TestRow(t *testing.T) {
	r := Row{Clock: "15:04:05", Goal: "7XK2ABCD", Kind: "result", Who: "writer", What: "claim 2246XH5H: Draft 7XK2ABCD: a draft of some length, 日本語"}
	for columns, want := range map[int]string{
		80: `15:04:05  7XK2ABCD  result     writer        claim 2246XH5H: Draft 7XK2ABCD: a
                                             draft of some length, 日本語`,
		40: `result writer  claim 2246XH5H: Draft
  7XK2ABCD: a draft of some length,
  日本語`,
		12: `result writer
  claim
  2246XH5H:
  Draft
  7XK2ABCD:
  a draft of
  some
  length,
  日本語`,
	} {
		lines := r.Lines(columns, 12, plain)
		if got := strings.Join(lines, "\n"); got != want {
			t.Errorf("in %d columns\n%s\nwant\n%s", columns, got, want)
		}
		for _, l := range lines[1:] {
			if term.Width(l) > columns {
				t.Errorf("%q is wider than %d", l, columns)
			}
		}
	}
}
