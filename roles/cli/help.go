package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"sett/roles/role"
)

const intro = `Sett runs a clan of tool-equipped agents against one goal. They never talk to each
other: they read and write artefacts on a shared blackboard, an orchestrator grants
them the right to work, and every step is kept.

Usage: sett [-C DIR] [-f FILE] [--name NAME] COMMAND …
`

const start = `
A first run, in a git repository:
  sett init --commit                 write sett.yml and an example agent, and commit them
  sett up                            start the clan, in containers
  sett up --runtime process          or as programs of this machine, which needs no engine
  sett forage --goal "…" --wait      give it a goal and follow it to its end
  sett down                          stop it; what happened is kept
`

const roles = `
Roles that sett itself starts (sett ROLE --help):
  orchestrator  decides who works on what
  cub           beside each agent: bids, runs the agent's tool, posts results
  blackboard    the store where there is no Redis
  keeper        keeps an instance's processes running in local mode
  notifier      tells people of questions and ends, where sett.yml has notify
  pause         holds a network namespace for containers
`

// printOverview prints the page for those who know nothing yet.
func (a *app) printOverview(parser *kong.Kong) error {
	a.printf("%s%s", intro, start)
	for _, g := range groups {
		t := a.table()
		for _, n := range parser.Model.Children {
			if n.Group != nil && n.Group.Key == g.Key && !n.Hidden {
				t.row("  "+n.Name, n.Help)
			}
		}
		if len(t.rows) == 0 {
			continue
		}
		a.printf("\n%s\n", g.Title)
		if err := t.write(a.Stdout); err != nil {
			return err
		}
	}
	a.printf("%s\nFlags of every command:\n", roles)
	if err := a.flagTable(parser.Model.Node); err != nil {
		return err
	}
	a.printf("\n%s\n\nsett COMMAND --help says more about each.\n", role.CodesHelp)
	return nil
}

// explain answers arguments that ask for help.
func (a *app) explain(args []string) error {
	parser, err := newParser(&root{})
	if err != nil {
		return fmt.Errorf("build command line: %w", err)
	}
	rest, _ := wantsHelp(ownShorts(parser, args))
	return a.help(parser, rest)
}

// help prints the page of the command that the arguments name.
func (a *app) help(parser *kong.Kong, args []string) error {
	if at := commandIndex(args); at >= 0 && args[at] == "fields" {
		return a.printFields(parser, args[at+1:])
	}
	n, err := a.commandOf(parser, args)
	if err != nil {
		return err
	}
	if n == nil {
		return a.printOverview(parser)
	}
	return a.commandHelp(n, parser.Model.Node)
}

// commandOf returns the command that arguments name; nil when they name none.
func (a *app) commandOf(parser *kong.Kong, args []string) (*kong.Node, error) {
	at := commandIndex(args)
	if at < 0 {
		return nil, nil
	}
	i := slices.IndexFunc(parser.Model.Children, func(n *kong.Node) bool { return n.Name == args[at] || slices.Contains(n.Aliases, args[at]) })
	if i < 0 {
		known := commandNames(parser)
		return nil, role.Fail(role.Usage, fmt.Errorf("no help: unknown command %s", clean(args[at])), "%s", didYouMean(args[at], known, ""))
	}
	return subcommand(parser.Model.Children[i], args[at+1:]), nil
}

// subcommand returns the command that the words after a command's name lead to.
func subcommand(n *kong.Node, words []string) *kong.Node {
	for _, word := range words {
		for _, child := range n.Children {
			if child.Name == word {
				return subcommand(child, words[1:])
			}
		}
	}
	return n
}

func (a *app) commandHelp(n, app *kong.Node) error {
	a.printf("%s\n\nUsage: sett %s", n.Help, commandPath(n))
	if len(n.Children) > 0 {
		a.printf(" COMMAND …")
	}
	if len(n.Flags) > 0 {
		a.printf(" [FLAGS]")
	}
	for _, p := range n.Positional {
		a.printf(" %s", positional(p))
	}
	a.printf("\n")
	if n.Detail != "" {
		a.printf("\n%s\n", strings.TrimSpace(n.Detail))
	}
	if fieldsOf(n) != "" {
		a.printf("\nFields of -o json: sett help fields %s\n", commandPath(n))
	}
	if err := a.subcommandTable(n); err != nil {
		return err
	}
	t := a.table()
	for _, p := range n.Positional {
		if p.Help != "" {
			t.row("  "+strings.ToUpper(p.Name), p.Help)
		}
	}
	if len(t.rows) > 0 {
		a.printf("\nArguments:\n")
		if err := t.write(a.Stdout); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		title string
		node  *kong.Node
	}{{"Flags:", n}, {"Flags of every command:", app}} {
		if len(part.node.Flags) == 0 {
			continue
		}
		a.printf("\n%s\n", part.title)
		if err := a.flagTable(part.node); err != nil {
			return err
		}
	}
	a.printf("\n%s\n", role.CodesHelp)
	return nil
}

// commandPath is what is typed for a command, after `sett`.
func commandPath(n *kong.Node) string {
	if n.Parent == nil || n.Parent.Parent == nil {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}

// subcommandTable lists what a command is divided into.
func (a *app) subcommandTable(n *kong.Node) error {
	if len(n.Children) == 0 {
		return nil
	}
	t := a.table()
	for _, child := range n.Children {
		t.row("  "+child.Name, child.Help)
	}
	a.printf("\nCommands:\n")
	return t.write(a.Stdout)
}

func positional(p *kong.Positional) string {
	s := strings.ToUpper(p.Name)
	if p.IsCumulative() {
		s += " …"
	}
	if !p.Required {
		s = "[" + s + "]"
	}
	return s
}

func (a *app) flagTable(n *kong.Node) error {
	t := a.table()
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		s := "      --" + f.Name
		if f.Short != 0 {
			s = "  -" + string(f.Short) + ", --" + f.Name
		}
		switch value := flagValue(f); {
		case strings.HasPrefix(value, "["): // an optional value, written as [=VALUE]
			s += value
		case value != "":
			s += " " + value
		}
		t.row(s, f.Help)
	}
	if n.Parent == nil {
		t.row("  -h, --help", "Show help for a command.")
		t.row("      --version", "Say which sett this is, as sett version does.")
	}
	return t.write(a.Stdout)
}
