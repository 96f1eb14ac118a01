package manual

import (
	"fmt"
	"strings"

	"sett/roles/cli/grammar"
)

// roffPage is a manual page under way, in roff with the macros of man(7).
type roffPage struct{ strings.Builder }

// line writes a line as it is.
func (p *roffPage) line(s string) { p.WriteString(s + "\n") }

// macro writes a macro with its arguments.
func (p *roffPage) macro(name string, args ...string) {
	p.WriteString("." + name)
	for _, arg := range args {
		p.WriteString(` "` + roffEscape(arg) + `"`)
	}
	p.WriteByte('\n')
}

// tagged writes a tag and its text.
func (p *roffPage) tagged(tag, text string) {
	p.macro("TP")
	p.line(tag)
	p.line(roffText(text))
}

// reference names a command that has a page of its own.
func (p *roffPage) reference(n *grammar.Command) {
	p.tagged(`\fB`+roffEscape(manName(n))+`\fR(1)`, n.Help)
}

// prose writes paragraphs. Indented lines and lines with columns are laid out by hand, and
// stay so.
func (p *roffPage) prose(text string) {
	var block []string
	indented := false
	flush := func() {
		switch {
		case len(block) == 0:
		case indented:
			p.verbatim(block)
		default:
			p.macro("PP")
			p.line(roffText(strings.Join(block, "\n")))
		}
		block = nil
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if in := strings.HasPrefix(line, " ") || strings.Contains(line, "  "); line == "" || in != indented {
			flush()
			indented = in
		}
		if line != "" {
			block = append(block, line)
		}
	}
	flush()
}

// verbatim writes lines as they are laid out.
func (p *roffPage) verbatim(lines []string) {
	p.macro("PP")
	p.macro("nf")
	for _, line := range lines {
		p.line(roffText(line))
	}
	p.macro("fi")
}

// roffText writes text so that no line of it counts as a request.
func roffText(s string) string {
	lines := strings.Split(roffEscape(strings.TrimRight(s, "\n")), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, " ") || line == "" {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// roffEscapes are the characters that mean something to roff, or are set as others:
// commands have to be copied from the page as they are typed.
var roffEscapes = strings.NewReplacer(
	`\`, `\(rs`, `-`, `\-`, `'`, `\(aq`, `"`, `\(dq`, "`", `\(ga`, `^`, `\(ha`, `~`, `\(ti`, "…", `.\|.\|.`,
)

// roffEscape writes a text as roff in ASCII.
func roffEscape(s string) string {
	var out strings.Builder
	for _, r := range roffEscapes.Replace(s) {
		if r < 0x80 {
			out.WriteRune(r)
		} else {
			fmt.Fprintf(&out, `\[u%04X]`, r)
		}
	}
	return out.String()
}
