package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
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

// tagged writes what a tag stands for.
func (p *roffPage) tagged(tag, text string) {
	p.macro("TP")
	p.line(tag)
	p.line(roffText(text))
}

// reference names a command that has a page of its own.
func (p *roffPage) reference(n *kong.Node) {
	p.tagged(`\fB`+roffEscape(manName(n))+`\fR(1)`, n.Help)
}

// prose writes paragraphs. What is indented is laid out by hand, and stays so, and
// so is a line with columns.
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
// what is typed has to be what can be copied from the page.
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
