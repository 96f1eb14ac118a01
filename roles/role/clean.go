package role

import (
	"strconv"
	"strings"
	"unicode"
)

// Clean makes a text safe to show within a line. Control characters could move the
// cursor or forge lines, others reorder text: Clean writes them as \x1b, \n or
// \u202e. It does not change a clean text.
func Clean(s string) string { return sanitise(s, "") }

// CleanText is Clean for texts of several lines: line feeds and tabs stay.
func CleanText(s string) string { return sanitise(s, "\n\t") }

// Harmful says whether a terminal obeys a character instead of showing it: control
// characters, and characters that reorder text or break lines.
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
