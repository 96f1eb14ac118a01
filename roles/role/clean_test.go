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
		// What a font leaves out.
		"pay\u200bload so\u00adft \u2060\ufeff": `pay\u200bload so\u00adft \u2060\ufeff`,
		"\u3164\u034f\u180b\ufe01\u115f":        `\u3164\u034f\u180b\ufe01\u115f`,
		"a\U000e0041\U000e0101":                 `a\U000e0041\U000e0101`,
		"\u0600\u0661":                          "\u0600\u0661",
		// Joiners, where they join and where they hide.
		"👩\u200d👩\u200d👧 👩🏽\u200d🚒 🏳\ufe0f\u200d🌈 ❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3": "👩\u200d👩\u200d👧 👩🏽\u200d🚒 🏳\ufe0f\u200d🌈 ❤\ufe0f ☎\ufe0e 1\ufe0f\u20e3",
		"می\u200cخواهم क्\u200dष":                                    "می\u200cخواهم क्\u200dष",
		"ro\u200dot ro\u200cot 1\ufe0f0 \u200d❤\ufe0f\ufe0f ❤\u200d": `ro\u200dot ro\u200cot 1\ufe0f0 \u200d` + "❤\ufe0f" + `\ufe0f ❤\u200d`,
	} {
		if got := Clean(in); got != want {
			t.Errorf("clean(%q) = %q, want %q", in, got, want)
		}
	}
	if got := CleanText("a\n\tb\x1b"); got != "a\n\tb\\x1b" {
		t.Errorf("cleanText keeps lines: %q", got)
	}
}
