package manual

import (
	"strings"

	"sett/roles/cli/grammar"
	"sett/roles/role"
)

// manName is the name of a command's page.
func manName(n *grammar.Command) string {
	return "sett-" + strings.ReplaceAll(n.Path(), " ", "-")
}

// writer writes pages from the grammar, from which --help is made too.
//
// The libraries that do so for kong's grammars make one page of everything, with
// today's date in it, and fill texts that are laid out. A release has to come out the
// same to the byte whenever it is built, so these pages bear no date.
type writer struct{ version string }

// Pages returns the text of every page by its name: that of sett, and one for each command.
func Pages(root *grammar.Command, version string) map[string]string {
	w := &writer{version}
	pages := map[string]string{"sett": w.overview(root)}
	for _, n := range root.Below() {
		pages[manName(n)] = w.command(n)
	}
	return pages
}

// overview is sett(1).
func (w *writer) overview(root *grammar.Command) string {
	p := w.page("sett", "a clan of tool-equipped agents works against one goal")
	about, _, _ := strings.Cut(intro, "\n\nUsage:")
	p.macro("SH", "SYNOPSIS")
	p.line(`\fBsett\fR [\fB\-C\fR \fIDIR\fR] [\fB\-f\fR \fIFILE\fR] [\fB\-\-name\fR \fINAME\fR] \fICOMMAND\fR \fR.\|.\|.`)
	p.macro("SH", "DESCRIPTION")
	p.prose(about)
	for _, g := range groups(root) {
		p.macro("SH", strings.ToUpper(strings.TrimSuffix(g[0].Group, ":")))
		for _, n := range g {
			p.reference(n)
		}
	}
	p.macro("SH", "OPTIONS")
	w.flags(p, root)
	p.macro("SH", "ROLES")
	p.prose(roles)
	p.macro("SH", "EXAMPLES")
	p.prose(start)
	w.end(p)
	return p.String()
}

// command is the page of one command.
func (w *writer) command(n *grammar.Command) string {
	p := w.page(manName(n), strings.TrimSuffix(n.Help, "."))
	p.macro("SH", "SYNOPSIS")
	p.line(w.synopsis(n))
	about, examples := SplitExamples(n.Detail)
	if about != "" {
		p.macro("SH", "DESCRIPTION")
		p.prose(about)
	}
	if len(n.Commands) > 0 {
		p.macro("SH", "COMMANDS")
		for _, child := range n.Commands {
			p.reference(child)
		}
	}
	if len(n.Arguments) > 0 {
		p.macro("SH", "ARGUMENTS")
		for _, a := range n.Arguments {
			p.tagged(`\fI`+roffEscape(strings.ToUpper(a.Name))+`\fR`, a.Help)
		}
	}
	p.macro("SH", "OPTIONS")
	w.flags(p, n)
	p.prose("Flags of every command are in sett(1).")
	if fields := fieldsOf(n); fields != "" {
		p.macro("SH", "FIELDS")
		p.prose(fieldsIntro)
		p.verbatim(strings.Split(fields, "\n"))
	}
	if len(examples) > 0 {
		p.macro("SH", "EXAMPLES")
		p.verbatim(examples)
	}
	w.end(p)
	return p.String()
}

// synopsis is how a command is typed.
func (w *writer) synopsis(n *grammar.Command) string {
	s := `\fBsett ` + roffEscape(n.Path()) + `\fR`
	if len(n.Commands) > 0 {
		s += ` \fICOMMAND\fR \&.\|.\|.`
	}
	if len(n.Flags) > 0 {
		s += ` [\fIFLAGS\fR]`
	}
	for _, p := range n.Arguments {
		s += " " + roffEscape(p.Usage())
	}
	return s
}

func (w *writer) page(name, about string) *roffPage {
	p := &roffPage{}
	p.line(`.\" Written by sett man.`)
	p.macro("TH", strings.ToUpper(name), "1", "", "sett "+w.version, "Sett")
	p.macro("SH", "NAME")
	p.line(roffEscape(name) + ` \- ` + roffEscape(about))
	return p
}

// flags lists those of a node itself.
func (w *writer) flags(p *roffPage, n *grammar.Command) {
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		tag := `\fB` + roffEscape("--"+f.Name) + `\fR`
		if f.Short != 0 {
			tag = `\fB` + roffEscape("-"+string(f.Short)) + `\fR, ` + tag
		}
		if value := f.Placeholder; strings.HasPrefix(value, "[") {
			tag += roffEscape(value)
		} else if value != "" {
			tag += ` \fI` + roffEscape(value) + `\fR`
		}
		p.tagged(tag, f.Help)
	}
	p.tagged(`\fB\-h\fR, \fB\-\-help\fR`, "Show help for a command.")
	p.tagged(`\fB\-\-version\fR`, "Say which sett this is, as sett version does.")
}

func (w *writer) end(p *roffPage) {
	p.macro("SH", "EXIT STATUS")
	p.prose(strings.TrimPrefix(role.CodesHelp, "Exit codes: "))
	p.macro("SH", "SEE ALSO")
	p.line(`\fBsett\fR(1); \fBsett\fR \fICOMMAND\fR \fB\-\-help\fR`)
}
