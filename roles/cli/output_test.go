package cli

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"sett/roles/role"
)

func TestCleanShowsWhatWouldAct(t *testing.T) {
	for in, want := range map[string]string{
		"plain ü 漢":      "plain ü 漢",
		"a\x1b[2Jb":      `a\x1b[2Jb`,
		"one\ntwo\r":     `one\ntwo\r`,
		"ab\u202ecd":     `ab\u202ecd`,
		"c1\u009b31m":    `c1\u009b31m`,
		"bell\a tab\t":   `bell\a tab\t`,
		"bad\xffutf8":    "bad\ufffdutf8",
		"sep\u2028arate": `sep\u2028arate`,
	} {
		if got := clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := cleanText("a\n\tb\x1b"); got != "a\n\tb\\x1b" {
		t.Errorf("cleanText keeps lines: %q", got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a\x1b]0;title\x07b")
	f.Fuzz(func(t *testing.T, s string) {
		got := clean(s)
		if strings.ContainsAny(got, "\x1b\n\r\x07\x08\x7f\u202e\u2066") {
			t.Fatalf("clean(%q) = %q", s, got)
		}
		if clean(got) != got {
			t.Fatalf("clean is not settled: %q", got)
		}
	})
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 12*time.Second + 900*time.Millisecond: "12s", 3*time.Minute + 50*time.Second: "3m",
		2*time.Hour + time.Minute: "2h", 47 * time.Hour: "47h", 5*24*time.Hour + time.Hour: "5d",
	} {
		if got := age(d); got != want {
			t.Errorf("age(%v) = %s, want %s", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		85 * time.Millisecond: "85ms", 1234 * time.Millisecond: "1.2s", 184*time.Second + 300*time.Millisecond: "3m4s", -1: "0ms",
	} {
		if got := span(d); got != want {
			t.Errorf("span(%v) = %s, want %s", d, got, want)
		}
	}
}

func TestShorten(t *testing.T) {
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"äöü", 3, "äöü"}, {"äöüß", 3, "äö…"}, {"ab cd", 4, "ab…"}, {"abc", 0, "…"}} {
		if got := shorten(c.in, c.n); got != c.want {
			t.Errorf("shorten(%q, %d) = %q, want %q", c.in, c.n, got, c.want)
		}
	}
}

func TestTableAlignsByCharacters(t *testing.T) {
	var out bytes.Buffer
	a := &app{}
	tb := a.table("NAME", "AGE")
	tb.row("größer", 3)
	tb.row("x\x1b", cell{"12", bad})
	if err := tb.write(&out); err != nil {
		t.Fatal(err)
	}
	if want := "NAME    AGE\ngrößer  3\nx\\x1b   12\n"; out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
}

func TestColourIsForTerminals(t *testing.T) {
	vars := map[string]string{}
	e := role.Env{Lookup: func(name string) (string, bool) { v, ok := vars[name]; return v, ok }}
	if coloured(e, "auto", &bytes.Buffer{}) {
		t.Error("a buffer is no terminal")
	}
	if !coloured(e, "always", &bytes.Buffer{}) {
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
		if got := coloured(e, c.choice, terminal); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	a := &app{colour: true}
	if got := a.paint("x", bad); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("paint: %q", got)
	}
	a.colour = false
	if got := a.paint("x", bad); got != "x" {
		t.Errorf("paint without colour: %q", got)
	}
}

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.Local)
	a := &app{Env: role.Env{Now: func() time.Time { return now }}}
	for in, want := range map[string]time.Time{
		"":                     {},
		"10m":                  now.Add(-10 * time.Minute),
		"11:30":                time.Date(2026, 3, 4, 11, 30, 0, 0, time.Local),
		"11:30:15":             time.Date(2026, 3, 4, 11, 30, 15, 0, time.Local),
		"2026-03-01":           time.Date(2026, 3, 1, 0, 0, 0, 0, time.Local),
		"2026-03-01 10:20":     time.Date(2026, 3, 1, 10, 20, 0, 0, time.Local),
		"2026-03-01T10:20:30Z": time.Date(2026, 3, 1, 10, 20, 30, 0, time.UTC),
	} {
		got, err := a.parseSince(in)
		if err != nil || !got.Equal(want) {
			t.Errorf("parseSince(%q) = %v, %v; want %v", in, got, err, want)
		}
	}
	if _, err := a.parseSince("soon"); role.CodeOf(err) != role.Usage {
		t.Errorf("nonsense: %v", err)
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
