package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"sett/roles/cli/term"
	"sett/roles/role"
)

func FuzzClean(f *testing.F) {
	f.Add("a\x1b]0;title\x07b")
	f.Fuzz(func(t *testing.T, s string) {
		got := role.Clean(s)
		if strings.ContainsAny(got, "\x1b\n\r\x07\x08\x7f\u202e\u2066") {
			t.Fatalf("clean(%q) = %q", s, got)
		}
		if role.Clean(got) != got {
			t.Fatalf("clean is not settled: %q", got)
		}
	})
}

func TestTableAlignsByCharacters(t *testing.T) {
	var out bytes.Buffer
	a := &app{}
	tb := a.Table("NAME", "AGE")
	tb.Row("größer", 3)
	tb.Row("x\x1b", term.Cell{Text: "12", As: term.Bad})
	if err := tb.Write(&out); err != nil {
		t.Fatal(err)
	}
	if want := "NAME    AGE\ngrößer  3\nx\\x1b   12\n"; out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	vars := map[string]string{}
	e := role.Env{Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
	if term.Coloured(e, "auto", &bytes.Buffer{}) {
		t.Error("a buffer is no terminal")
	}
	if !term.Coloured(e, "always", &bytes.Buffer{}) {
		t.Error("--color always")
	}
	terminal := openTerminal(t)
	for _, c := range []struct {
		noColor, term, choice string
		want                  bool
	}{
		{"", "xterm", "auto", true}, {"", "dumb", "auto", false}, {"1", "xterm", "auto", false}, {"", "xterm", "never", false},
		{"1", "dumb", "always", true}, {"0", "xterm", "auto", false}, {"", "", "auto", true},
	} {
		vars["NO_COLOR"], vars["TERM"] = c.noColor, c.term
		if got := term.Coloured(e, c.choice, terminal); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	a := &app{Terminal: term.Terminal{Colour: true}}
	if got := a.Paint("x", term.Bad); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("paint: %q", got)
	}
	a.Colour = false
	if got := a.Paint("x", term.Bad); got != "x" {
		t.Errorf("paint without colour: %q", got)
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	a := &app{Terminal: term.Terminal{Env: role.Env{Now: func() time.Time { return now }}}}
	for in, want := range map[string]time.Time{
		"":                     {},
		"10m":                  now.Add(-10 * time.Minute),
		"11:30":                time.Date(2026, 3, 4, 11, 30, 0, 0, time.Local),
		"11:30:15":             time.Date(2026, 3, 4, 11, 30, 15, 0, time.Local),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"2026-03-01 10:20":     time.Date(2026, 3, 1, 10, 20, 0, 0, time.Local),
		"2026-03-01T10:20:30Z": time.Date(2026, 3, 1, 10, 20, 30, 0, time.UTC),
	} {
		got, err := a.Since(in)
		if err != nil || !got.Equal(want) {
			t.Errorf("parseSince(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	if _, err := a.Since("soon"); role.CodeOf(err) != role.Usage {
		t.Errorf("nonsense: %v", err)
	}
	if _, err := a.Since("-1h"); role.CodeOf(err) != role.Usage || err.Error() != "--since: -1h is negative" {
		t.Errorf("a time to come: %v", err)
	}
}

// openTerminal returns one side of a terminal that the test made.
func openTerminal(t *testing.T) *os.File {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if !role.IsTerminal(f) {
		t.Fatal("/dev/ptmx is no terminal")
	}
	return f
}
