package term

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sett/roles/role"
)

func TestWrap(t *testing.T) {
	for _, tc := range []struct {
		text    string
		columns int
		want    []string
	}{
		{"", 10, []string{""}},
		{"one two", 7, []string{"one two"}},
		{"one two three", 8, []string{"one two", "three"}},
		{"one two three", 7, []string{"one two", "three"}},
		{"abcdefghij", 4, []string{"abcd", "efgh", "ij"}},
		{"a abcdefghij", 4, []string{"a", "abcd", "efgh", "ij"}},
		{"日本語 テキスト", 6, []string{"日本語", "テキス", "ト"}},
		{"日本", 1, []string{"日", "本"}}, // too wide, and yet not for ever
		{"e\u0301e\u0301 x", 2, []string{"e\u0301e\u0301", "x"}},
		{`ab\x1bcd`, 5, []string{"ab", `\x1bc`, "d"}}, // an escape is broken only where it has no line of its own
		{`abcde\u200bf`, 8, []string{"abcde", `\u200bf`}},
		{`a\U000e0041b`, 10, []string{"a", `\U000e0041`, "b"}},
		{`\u200b`, 4, []string{`\u20`, "0b"}},
		{`ab\x1bcd`, 6, []string{`ab\x1b`, "cd"}},
	} {
		got := Wrap(tc.text, tc.columns)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tc.want) {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}

// A line may have a million characters, tabs or blanks. Work that grew with the square of that
// would take minutes to hours.
func TestWrapOfLongLines(t *testing.T) {
	const n, limit = 1 << 20, 2 * time.Minute
	done := make(chan bool)
	go func() {
		defer close(done)
		for text, lines := range map[string]int{"a": n / 64, "ab ": 3 * n / 63, "日": n / 32, `\x1b`: 4 * n / 64, "a\u0301": n / 64} {
			if got := Wrap(strings.Repeat(text, n), 64); len(got) < lines || len(got) > lines+1 {
				t.Errorf("%d of %q become %d lines, want %d", n, text, len(got), lines)
			}
			if got := Cut(strings.Repeat(text, n), 64); Width(got) > 64 {
				t.Errorf("%q is cut to %q", text, got)
			}
		}
		if got := Untab(strings.Repeat("a\t", n)); len(got) != 8*n || strings.Contains(got, "\t") {
			t.Errorf("tabs become %d bytes", len(got))
		}
	}()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("it takes longer than %s", limit)
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text    string
		columns int
		want    string
	}{
		{"one two", 7, "one two"}, {"one two", 6, "one t…"}, {"one two", 5, "one…"}, {"one", 1, "…"}, {"one", 0, ""}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"}, {`ab\x1bc`, 6, "ab…"}, {`ab\x1bc`, 7, `ab\x1bc`},
	} {
		if got := Cut(tc.text, tc.columns); got != tc.want || Width(got) > tc.columns {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}

func TestUntab(t *testing.T) {
	for text, want := range map[string]string{"": "", "ok": "ok", "ok\tx\t\t1s": "ok      x               1s", "12345678\tx": "12345678        x", "日本\tx": "日本    x"} {
		if got := Untab(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// Lines are broken at the width, but for commands, which stand on lines of their own.
func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"sett: note: all of it is here already; sett --name stage land brings it": "sett: note: all of it is here\n  already;\n  sett --name stage land brings it",
		"  sett forage --goal \"Buy milk, bread\" --wait":                         "  sett forage --goal \"Buy milk, bread\" --wait",
		" 12 | agents: {one: {command: [a], bids: x}}\n    |          ^":          " 12 | agents: {one: {command: [a], bids: x}}\n    |          ^",
		"  sett up and down, and what more there is to say":                       "  sett up and down, and what\n    more there is to say",
		"short\n\n  one two three four five six seven":                            "short\n\n  one two three four five six\n    seven",
	} {
		if got := Fold(&wide{30}, text, "  "); got != want {
			t.Errorf("%q becomes\n%s\nwant\n%s", text, got, want)
		}
		if got := Fold(nil, text, "  "); got != text {
			t.Errorf("without a terminal %q becomes %q", text, got)
		}
	}
	err := Fitted(&wide{40}, role.Fail(role.Usage, errors.New("one two three four five six seven\nand more of that, on a line of its own"), "a hint of so many words, more than fit"))
	var b strings.Builder
	role.Report(&b, Fitted(&wide{30}, role.Fail(role.Usage, errors.New("sett goals and others do that"), "sett goals, sett hoard list ids")))
	if want := "sett: error: sett goals and\n  others do that\nsett: hint: sett goals, sett\n  hoard list ids\n"; b.String() != want {
		t.Errorf("reported\n%s\nwant\n%s", b.String(), want)
	}
	b.Reset()
	role.Report(&b, err)
	if want := "sett: error: one two three four five six\n  seven\n  and more of that, on a line of its own\nsett: hint: a hint of so many words,\n  more than fit\n"; b.String() != want || role.CodeOf(err) != role.Usage {
		t.Errorf("reported\n%s\nwant\n%s", b.String(), want)
	}
}

// An error is the same text on a terminal of any width: only its line breaks differ, and no
// line is wider where its words can be broken.
func TestFittedAtAnyWidth(t *testing.T) {
	for _, err := range []error{
		role.Fail(role.Usage, errors.New("sett.yml:3:3: agents.ed has neither image nor build"), "add image: or build:, or run without containers"),
		role.Fail(role.Usage, errors.New("one two three four\nand more of that, on a line of its own"), "/home/someone/a-directory/with-a-long-name/and-another-one is not yours, and cannot be"),
		role.Fail(role.Usage, errors.New("/home/someone/a-directory/with-a-long-name/and-another-one/state cannot be written; sett doctor"), "sett up --name x"),
		role.Fail(role.NotFound, errors.New("x"), ""),
		errors.New(""),
	} {
		var whole strings.Builder
		role.Report(&whole, err)
		for columns := 1; columns <= 130; columns++ {
			var b strings.Builder
			role.Report(&b, Fitted(&wide{columns}, err))
			if got, want := strings.ReplaceAll(squeeze(b.String()), "\n", ""), strings.ReplaceAll(squeeze(whole.String()), "\n", ""); got != want {
				t.Errorf("in %d columns\n%swant the text of\n%s", columns, b.String(), whole.String())
			}
			for line := range strings.Lines(b.String()) {
				if line = strings.TrimRight(line, "\n"); columns >= len(role.ErrorLabel) && Width(line) > columns && !strings.Contains(line, "sett up --name x") || strings.HasSuffix(line, " ") {
					t.Errorf("in %d columns: line %q", columns, line)
				}
			}
		}
	}
}

type wide struct{ columns int }

func (w *wide) Columns() int { return w.columns }

// No text, however it is made, is wider than it may be, and nothing of it is lost.
func FuzzWrap(f *testing.F) {
	f.Add("one two  three 日本語", 5)
	f.Add("👩‍👩‍👧 x", 3)
	f.Fuzz(func(t *testing.T, s string, columns int) {
		if columns < 2 || columns > 200 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' }) {
			return
		}
		for _, line := range Wrap(s, columns) {
			if Width(line) > columns && len(line) != firstCluster(line) {
				t.Errorf("%q of %q is wider than %d", line, s, columns)
			}
		}
		if squeeze(strings.Join(Wrap(s, columns), "")) != squeeze(s) {
			t.Errorf("%q becomes %q", s, Wrap(s, columns))
		}
	})
}

func squeeze(s string) string { return strings.ReplaceAll(s, " ", "") }
