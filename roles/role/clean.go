package role

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Clean makes a text safe to show within a line. Control characters could move the
// cursor or forge lines, others reorder text, and invisible ones make texts that differ
// look alike: Clean writes them as \x1b, \n or \u202e. It does not change a clean text.
// roles/cli/ui/page/dom.js has the same for the page; testdata/clean.json has cases of both.
func Clean(s string) string { return sanitise(s, "") }

// CleanText is Clean for texts of several lines: line feeds and tabs stay.
func CleanText(s string) string { return sanitise(s, "\n\t") }

// Harmful says whether a terminal obeys a character instead of showing it, or shows nothing
// for it: control characters, and characters that reorder text, break lines or are invisible.
// A joiner is none, because it depends on the characters around it.
func Harmful(r rune) bool {
	if r < 0x80 { // nearly all
		return r < ' ' || r == 0x7f
	}
	return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || invisible(r) && !Joiner(r)
}

// invisible says whether a character has no picture of its own: those of formatting, but for
// the signs that go before Arabic numbers, and others that fonts leave out.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
}

const (
	nonJoiner    = '\u200c'
	joiner       = '\u200d'
	asText       = '\ufe0e'
	asEmoji      = '\ufe0f'
	keycapCircle = '\u20e3'
)

// Joiner says whether an invisible character belongs to the spelling of some texts: emoji
// are made with it, and words of scripts that join their letters. Clean escapes it elsewhere.
func Joiner(r rune) bool {
	return r == nonJoiner || r == joiner || r == asText || r == asEmoji
}

// joining are the scripts of whose spelling joiners are a part.
var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil,
	unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Myanmar, unicode.Khmer,
}

// pictures are the characters that emoji are made of.
var pictures = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0xa9, 0xa9, 1}, {0xae, 0xae, 1}, {0x203c, 0x203c, 1}, {0x2049, 0x2049, 1}, {0x2122, 0x2122, 1}, {0x2139, 0x2139, 1}, {0x2194, 0x2199, 1},
		{0x21a9, 0x21aa, 1}, {0x231a, 0x231b, 1}, {0x2328, 0x2328, 1}, {0x23cf, 0x23cf, 1}, {0x23e9, 0x23fa, 1}, {0x24c2, 0x24c2, 1}, {0x25aa, 0x25ab, 1},
		{0x25b6, 0x25b6, 1}, {0x25c0, 0x25c0, 1}, {0x25fb, 0x25fe, 1}, {0x2600, 0x27bf, 1}, {0x2934, 0x2935, 1}, {0x2b05, 0x2b07, 1}, {0x2b1b, 0x2b1c, 1},
		{0x2b50, 0x2b50, 1}, {0x2b55, 0x2b55, 1}, {0x3030, 0x3030, 1}, {0x303d, 0x303d, 1}, {0x3297, 0x3297, 1}, {0x3299, 0x3299, 1},
	},
	R32:         []unicode.Range32{{0x1f000, 0x1f3fa, 1}, {0x1f400, 0x1faff, 1}},
	LatinOffset: 2,
}

// joins says whether the joiner at a place belongs there. at returns 0 outside of the text.
func joins(at func(i int) rune, i int) bool {
	before, next := at(i-1), at(i+1)
	switch at(i) {
	case asText, asEmoji:
		return unicode.Is(pictures, before) || next == keycapCircle && strings.ContainsRune("0123456789#*", before)
	case joiner:
		if before == asEmoji || before >= 0x1f3fb && before <= 0x1f3ff { // a colour of skin
			before = at(i - 2)
		}
		if unicode.Is(pictures, before) && unicode.Is(pictures, next) {
			return true
		}
	}
	return slices.ContainsFunc(joining, func(script *unicode.RangeTable) bool {
		return unicode.Is(script, before) && unicode.Is(script, next)
	})
}

func sanitise(s, keep string) string {
	harmful := func(r rune) bool { return Harmful(r) && !strings.ContainsRune(keep, r) }
	s = strings.ToValidUTF8(s, "\ufffd")
	if strings.IndexFunc(s, func(r rune) bool { return harmful(r) || Joiner(r) }) < 0 {
		return s
	}
	var b strings.Builder
	var quoted []byte
	text := []rune(s)
	at := func(i int) rune {
		if i < 0 || i >= len(text) {
			return 0
		}
		return text[i]
	}
	for i, r := range text {
		if !harmful(r) && (!Joiner(r) || joins(at, i)) {
			b.WriteRune(r)
			continue
		}
		quoted = strconv.AppendQuoteRuneToASCII(quoted[:0], r)
		b.Write(quoted[1 : len(quoted)-1])
	}
	return b.String()
}
