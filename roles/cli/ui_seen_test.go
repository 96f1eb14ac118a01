package cli

import (
	"encoding/json"
	"os"
	"testing"
	"unicode"

	"sett/roles/role"
)

// The page escapes the characters that the command line escapes, and in the same way.
func TestPageEscapesAsClean(t *testing.T) {
	s := newStage(t)
	b := newBrowser(s)
	b.pageOf()
	value[bool](b, "import('/ui/dom.js').then((m) => { window.settSeen = m.seen; }) && true")
	b.sees("the module", "window.settSeen")
	seen := func(text string) string {
		t.Helper()
		in, err := json.Marshal(text)
		s.Must(err)
		return value[string](b, "settSeen("+string(in)+")")
	}
	data, err := os.ReadFile("../role/testdata/clean.json")
	s.Must(err)
	var cases []struct{ In string }
	s.Must(json.Unmarshal(data, &cases))
	for _, c := range cases {
		if got, want := seen(c.In), role.CleanText(c.In); got != want {
			t.Errorf("of %q: %q, want %q", c.In, got, want)
		}
	}
	// Every character alone, and with joiners, but for those that one of the two does not know yet.
	known := map[rune]bool{}
	for _, r := range value[[]int](b, `(() => {
		window.settKnown = [];
		for (let r = 0; r < 0x110000; r++) if ((r < 0xd800 || r > 0xdfff) && !/\p{Cn}/u.test(String.fromCodePoint(r))) settKnown.push(r);
		return settKnown;
	})()`) {
		known[rune(r)] = unicode.In(rune(r), unicode.L, unicode.M, unicode.N, unicode.P, unicode.S, unicode.Z, unicode.Cc, unicode.Cf, unicode.Co)
	}
	for form, of := range map[string]func(c string) string{
		"c": func(c string) string { return c }, "c + '\\ufe0f'": func(c string) string { return c + "\ufe0f" }, "c + '\\u200d' + c": func(c string) string { return c + "\u200d" + c },
	} {
		escaped := map[rune]bool{}
		for _, r := range value[[]int](b, `settKnown.filter((r) => {
			const c = String.fromCodePoint(r);
			return settSeen(`+form+`) !== `+form+`;
		})`) {
			escaped[rune(r)] = true
		}
		for r, is := range known {
			if text := of(string(r)); is && (role.CleanText(text) != text) != escaped[r] {
				t.Errorf("%s of %U is escaped by the page: %v, and otherwise by the command line", form, r, escaped[r])
			}
		}
	}
	for _, r := range []string{"\u2065", "\ufff0", "\U000e0fff"} { // nobody knows them, and fonts leave them out
		if got := seen(r); got != role.CleanText(r) || got == r {
			t.Errorf("%q", got)
		}
	}
}
