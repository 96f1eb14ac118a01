package manual

import (
	"strings"
	"testing"
)

// TestRoff: nothing that is text counts as a request or an escape.
func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".nf":         `\&.nf`,
		"'br":         `\(aqbr`,
		"a\n.so /x":   "a\n\\&.so /x",
		`\fB --x`:     `\(rsfB \-\-x`,
		"  two\n\nx":  "\\&  two\n\\&\nx",
		"… é \"q\" `": `\&.\|.\|. \[u00E9] \(dqq\(dq \(ga`,
	} {
		if got := roffText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSplitExamples(t *testing.T) {
	for help, want := range map[string]string{
		"About.\n\nExample: sett x":                         "About.|sett x",
		"About.\n\nExamples: sett x\n          sett y":      "About.|sett x|sett y",
		"A\nB\n\nExamples:\n  sett x    a word\n\n  sett z": "A\nB|sett x    a word|sett z",
		"About: Examples: none":                             "About: Examples: none",
	} {
		about, examples := SplitExamples(help)
		if got := strings.Join(append([]string{about}, examples...), "|"); got != want {
			t.Errorf("%q: %q", help, got)
		}
	}
}
