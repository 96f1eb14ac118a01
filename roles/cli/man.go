package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"sett/roles/role"
)

type manCmd struct {
	Dir string `arg:"" optional:"" help:"Write sett.1 and a page for each command into this directory, which is made."`
}

// Help is shown by `sett man --help`.
func (manCmd) Help() string {
	return `Prints the manual page of sett, as roff. For a directory it writes that page and one for
each command: sett.1, sett-up.1, sett-ledger-export.1 and so on. They say what --help says.

Examples:
  sett man | man -l -
  sett man ~/.local/share/man/man1
  sett man pages && man -l pages/sett-up.1`
}

// Run prints or writes the pages.
func (c *manCmd) Run(a *app) error {
	parser, err := newParser(&root{})
	if err != nil {
		return fmt.Errorf("build command line: %w", err)
	}
	m := &manual{version: a.Build.Version, parser: parser}
	if c.Dir == "" {
		a.printf("%s", m.overview())
		return nil
	}
	dir, err := a.pathOf(c.Dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make directory %s: %w", clean(c.Dir), cause(err))
	}
	pages := map[string]string{"sett": m.overview()}
	for _, n := range m.commands(parser.Model.Node) {
		pages[manName(n)] = m.command(n)
	}
	var failed error
	for name, text := range pages {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, name+".1"), []byte(text), 0o644))
	}
	if failed != nil {
		return fmt.Errorf("write manual pages: %w", failed)
	}
	a.sayf("sett: %d pages in %s\n", len(pages), clean(a.tilde(dir)))
	return nil
}

// manName is what the page of a command is called.
func manName(n *kong.Node) string {
	return "sett-" + strings.ReplaceAll(commandPath(n), " ", "-")
}

// manual writes pages from the grammar, from which --help is made too.
//
// The libraries that do so for kong's grammars make one page of everything, with
// today's date in it, and fill texts that are laid out. A release has to come out the
// same to the byte whenever it is built, so these pages bear no date.
type manual struct {
	version string
	parser  *kong.Kong
}

// commands are those below a node that are shown, each before what it is divided into.
func (m *manual) commands(n *kong.Node) []*kong.Node {
	var out []*kong.Node
	for _, child := range n.Children {
		if !child.Hidden {
			out = append(append(out, child), m.commands(child)...)
		}
	}
	return out
}

// overview is sett(1).
func (m *manual) overview() string {
	p := m.page("sett", "a clan of tool-equipped agents works against one goal")
	about, _, _ := strings.Cut(intro, "\n\nUsage:")
	p.macro("SH", "SYNOPSIS")
	p.line(`\fBsett\fR [\fB\-C\fR \fIDIR\fR] [\fB\-f\fR \fIFILE\fR] [\fB\-\-name\fR \fINAME\fR] \fICOMMAND\fR \fR.\|.\|.`)
	p.macro("SH", "DESCRIPTION")
	p.prose(about)
	for _, g := range groups {
		p.macro("SH", strings.ToUpper(strings.TrimSuffix(g.Title, ":")))
		for _, n := range m.parser.Model.Children {
			if n.Group != nil && n.Group.Key == g.Key && !n.Hidden {
				p.reference(n)
			}
		}
	}
	p.macro("SH", "OPTIONS")
	m.flags(p, m.parser.Model.Node)
	p.macro("SH", "ROLES")
	p.prose(roles)
	p.macro("SH", "EXAMPLES")
	p.prose(start)
	m.end(p)
	return p.String()
}

// command is the page of one command.
func (m *manual) command(n *kong.Node) string {
	p := m.page(manName(n), strings.TrimSuffix(n.Help, "."))
	p.macro("SH", "SYNOPSIS")
	p.line(m.synopsis(n))
	about, examples := splitExamples(n.Detail)
	if about != "" {
		p.macro("SH", "DESCRIPTION")
		p.prose(about)
	}
	if len(n.Children) > 0 {
		p.macro("SH", "COMMANDS")
		for _, child := range n.Children {
			p.reference(child)
		}
	}
	if len(n.Positional) > 0 {
		p.macro("SH", "ARGUMENTS")
		for _, a := range n.Positional {
			p.tagged(`\fI`+roffEscape(strings.ToUpper(a.Name))+`\fR`, a.Help)
		}
	}
	p.macro("SH", "OPTIONS")
	m.flags(p, n)
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
	m.end(p)
	return p.String()
}

// synopsis is how a command is typed.
func (m *manual) synopsis(n *kong.Node) string {
	s := `\fBsett ` + roffEscape(commandPath(n)) + `\fR`
	if len(n.Children) > 0 {
		s += ` \fICOMMAND\fR \&.\|.\|.`
	}
	if len(n.Flags) > 0 {
		s += ` [\fIFLAGS\fR]`
	}
	for _, p := range n.Positional {
		s += " " + roffEscape(positional(p))
	}
	return s
}

func (m *manual) page(name, about string) *roffPage {
	p := &roffPage{}
	p.line(`.\" Written by sett man.`)
	p.macro("TH", strings.ToUpper(name), "1", "", "sett "+m.version, "Sett")
	p.macro("SH", "NAME")
	p.line(roffEscape(name) + ` \- ` + roffEscape(about))
	return p
}

// flags lists those of a node itself.
func (m *manual) flags(p *roffPage, n *kong.Node) {
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		tag := `\fB` + roffEscape("--"+f.Name) + `\fR`
		if f.Short != 0 {
			tag = `\fB` + roffEscape("-"+string(f.Short)) + `\fR, ` + tag
		}
		if value := flagValue(f); strings.HasPrefix(value, "[") {
			tag += roffEscape(value)
		} else if value != "" {
			tag += ` \fI` + roffEscape(value) + `\fR`
		}
		p.tagged(tag, f.Help)
	}
	p.tagged(`\fB\-h\fR, \fB\-\-help\fR`, "Show help for a command.")
	p.tagged(`\fB\-\-version\fR`, "Say which sett this is, as sett version does.")
}

// flagValue is what stands for a flag's value; empty when it has none.
func flagValue(f *kong.Flag) string {
	if f.IsBool() && f.PlaceHolder == "" {
		return ""
	}
	return orElse(f.PlaceHolder, strings.ToUpper(f.Name))
}

// end says how commands end and where more is.
func (m *manual) end(p *roffPage) {
	p.macro("SH", "EXIT STATUS")
	p.prose(strings.TrimPrefix(role.CodesHelp, "Exit codes: "))
	p.macro("SH", "SEE ALSO")
	p.line(`\fBsett\fR(1); \fBsett\fR \fICOMMAND\fR \fB\-\-help\fR`)
}
