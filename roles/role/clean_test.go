package role

import (
	"testing"
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
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := CleanText("a\n\tb\x1b"); got != "a\n\tb\\x1b" {
		t.Errorf("cleanText keeps lines: %q", got)
	}
}
