package term

import (
	"fmt"
	"strings"
	"testing"
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
	} {
		got := Wrap(tc.text, tc.columns)
		if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", tc.want) {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tc := range []struct {
		text    string
		columns int
		want    string
	}{
		{"one two", 7, "one two"}, {"one two", 6, "one t…"}, {"one two", 5, "one…"}, {"one", 1, "…"}, {"one", 0, ""}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
	} {
		if got := Cut(tc.text, tc.columns); got != tc.want || Width(got) > tc.columns {
			t.Errorf("%q in %d: %q, want %q", tc.text, tc.columns, got, tc.want)
		}
	}
}

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
