package shell

import (
	"strings"
	"testing"
)

// TestCompleteBash: the line as bash has it, and what bash is to insert.
func TestCompleteBash(t *testing.T) {
	const breaks = " \t\n\"'@><=;|&(:"
	values := []candidate{{value: "a b"}, {value: "a:c", about: "what\nis"}, {value: "--x=@last"}}
	for _, c := range []struct {
		line       string
		words      string
		redirected bool
		reply      string // "a b", had it been the only one
	}{
		{"sett ", "", false, `a\ b`},
		{"sett a", "a", false, `a\ b`},
		{`sett 'x y' "a`, `x y|a`, false, `a b`},
		{`sett x\ y 'a`, `x y|a`, false, `a b`},
		{`sett "x\"\y" a\ `, `x"\y|a `, false, `a\ b`},
		{"sett --output=js", "--output=js", false, ""},
		{"sett '' x", "|x", false, ""},
		{"sett answer x - < f", "answer|x|-", true, ""},
		{"sett logs 2>/dev/null a", "logs|a", false, `a\ b`},
		{"sett logs 2>&1 >x a", "logs|a", false, `a\ b`},
		{"sett", "sett", false, ""},
		{"", "", false, ""},
	} {
		b := parseBash(c.line, breaks)
		words := strings.Join(b.words, "|")
		if b.redirected {
			words = strings.Join(b.words[:len(b.words)-1], "|")
		}
		if words != c.words || b.redirected != c.redirected {
			t.Errorf("%q: %q, %v", c.line, b.words, b.redirected)
		}
		if got := b.reply(values[:1], b.words, "9"); c.reply != "" && got != c.reply+"\n" {
			t.Errorf("%q: reply %q", c.line, got)
		}
	}
	for line, want := range map[string]string{
		"sett a:": "c\n", "sett 'a:": "a:c\n", // within quotes bash breaks nothing
	} {
		b := parseBash(line, breaks)
		if got := b.reply(values[1:2], b.words, "9"); got != want {
			t.Errorf("%s: %q", line, got)
		}
	}
	b := parseBash("sett --x=@", breaks)
	if got := b.reply(values[2:], b.words, "9"); got != "@last\n" {
		t.Errorf("got %q", got)
	}
}

func FuzzCompleteBash(f *testing.F) {
	f.Add(`sett "a\`, " =:")
	f.Add("sett 2>&1 > 'x", "")
	f.Fuzz(func(t *testing.T, line, breaks string) {
		b := parseBash(line, breaks)
		if len(b.words) == 0 || b.kept < 0 || b.kept > len(b.words[len(b.words)-1]) {
			t.Fatalf("%q: %+v", line, b)
		}
		_ = b.reply([]candidate{{value: "x", about: "y"}, {value: "z"}}, b.words, "9")
	})
}
