package role

import (
	"strconv"
	"strings"
	"unicode"
)

// Clean makes a text safe to show within a line: control characters, which could
// move the cursor or forge lines, and those that reorder text are shown as \x1b,
// \n or \u202e. What is clean stays as it is.
func Clean(s string) string { return sanitise(s, "") }

// CleanText is Clean for texts of several lines: line feeds and tabs stay.
func CleanText(s string) string { return sanitise(s, "\n\t") }

// Harmful says whether a character acts on a terminal instead of being shown:
// controls, and what reorders or parts lines.
func Harmful(r rune) bool {
	if r < 0x80 { // nearly all
		return r < ' ' || r == 0x7f
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' || r == '\ufeff'
}

func sanitise(s, keep string) string {
	harmful := func(r rune) bool { return Harmful(r) && !strings.ContainsRune(keep, r) }
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.IndexFunc(s, harmful) < 0 {
		return s
	}
	var b strings.Builder
	var quoted []byte
	for _, r := range s {
		if !harmful(r) {
			b.WriteRune(r)
			continue
		}
		quoted = strconv.AppendQuoteRuneToASCII(quoted[:0], r)
		b.Write(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
