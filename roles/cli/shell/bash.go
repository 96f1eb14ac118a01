package shell

import (
	"strings"
	"unicode/utf8"

	"sett/roles/role/words"
)

// bashLine is a command line as bash has it: unlike other shells it does not unquote the
// words, and it replaces only the text after the last word break.
type bashLine struct {
	words      []string // unquoted, without the command's name; the last is to be completed
	quote      rune     // that the last word has open; 0: none
	kept       int      // bytes of the last word that bash leaves as they are
	redirected bool     // the last word is no argument, but the file of a redirection
}

// parseBash reads a line up to the cursor. breaks is COMP_WORDBREAKS.
func parseBash(line, breaks string) bashLine {
	p := bashParser{breaks: breaks}
	for _, r := range line {
		p.next(r)
	}
	b := bashLine{words: p.words, quote: p.quote, kept: p.kept, redirected: p.redirected}
	b.words = append(b.words, p.text.String())[min(1, len(p.words)):]
	return b
}

// bashParser splits a line into words, a character at a time.
type bashParser struct {
	breaks     string
	words      []string
	text       strings.Builder // the word under way
	begun      bool            // there is one
	quote      rune
	escaped    bool
	kept       int
	redirected bool
}

// bashPrefixes are the word breaks that bash counts to the word they stand before.
const bashPrefixes = "@$"

func (p *bashParser) next(r rune) {
	switch {
	case p.escaped:
		if p.quote == '"' && !strings.ContainsRune("$`\"\\", r) {
			p.text.WriteByte('\\')
		}
		p.text.WriteRune(r)
		p.escaped = false
	case r == '\\' && p.quote != '\'':
		p.begun, p.escaped = true, true
	case p.quote != 0:
		if r == p.quote {
			p.quote = 0
			return
		}
		p.text.WriteRune(r)
	case r == '"' || r == '\'':
		p.begun, p.quote, p.kept = true, r, p.text.Len()
	case r == ' ' || r == '\t' || r == '\n':
		p.end()
	case r == '<' || r == '>':
		if strings.Trim(p.text.String(), "0123456789&") == "" {
			p.begun = false // a descriptor
			p.text.Reset()
		}
		p.end()
		p.redirected = true
	case r == '&' && p.redirected && !p.begun: // 2>&1
	default:
		p.begun = true
		at := p.text.Len()
		p.text.WriteRune(r)
		switch {
		case !strings.ContainsRune(p.breaks, r):
		case strings.ContainsRune(bashPrefixes, r):
			p.kept = at
		default:
			p.kept = p.text.Len()
		}
	}
}

// end ends the word under way.
func (p *bashParser) end() {
	if p.begun {
		if !p.redirected {
			p.words = append(p.words, p.text.String())
		}
		p.redirected = false
	}
	p.text.Reset()
	p.begun, p.kept = false, 0
}

// reply is the text for bash to insert or list. about is shown where candidates are only
// listed; compType, the variable COMP_TYPE, tells.
func (b bashLine) reply(values []candidate, typed []string, compType string) string {
	kept := typed[len(typed)-1][:b.kept]
	var out []string
	longest := 0
	for i := range values {
		rest, ok := strings.CutPrefix(values[i].value, kept)
		if !ok {
			rest = values[i].value
		}
		out = append(out, b.quoted(rest))
		longest = max(longest, utf8.RuneCountInString(out[i]))
	}
	inserts := compType == "37" || compType == "42" // menu-complete and insert-completions take each as it is
	for i, v := range values {
		if len(values) > 1 && v.about != "" && !inserts {
			pad := strings.Repeat(" ", longest-utf8.RuneCountInString(out[i]))
			out[i] += pad + "  (" + words.Shorten(v.about, 60) + ")"
		}
	}
	if len(out) == 0 {
		return ""
	}
	return strings.Join(out, "\n") + "\n"
}

// quoted writes a value so that bash reads it as it is.
func (b bashLine) quoted(s string) string {
	special := " \t\"'`$\\&|;<>()*?[]{}!#~"
	switch b.quote {
	case '\'':
		return s
	case '"':
		special = "\"`$\\"
	}
	var out strings.Builder
	for _, r := range s {
		if strings.ContainsRune(special, r) {
			out.WriteByte('\\')
		}
		out.WriteRune(r)
	}
	return out.String()
}
