// Package manual prints help and writes the pages of man, from the grammar of the command
// line.
package manual

import (
	"fmt"
	"strings"

	"sett/roles/cli/grammar"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

const intro = `Sett runs a clan of tool-equipped agents against one goal. They never talk to each
other: they read and write artefacts on a shared blackboard, an orchestrator grants
them the right to work, and every step is kept.

Usage: sett [-C DIR] [-f FILE] [--name NAME] COMMAND …
`

const start = `
A first run, in a git repository:
  sett init --commit             write and commit sett.yml and an example agent
  sett up                        start the clan, in containers
  sett up --runtime process      or without an engine, as local programs
  sett forage --goal "…" --wait  give it a goal and follow it to its end
  sett down                      stop it; what happened is kept
`

const roles = `
Roles that sett itself starts (sett ROLE --help):
  orchestrator   decides who works on what
  cub            beside each agent: bids, runs the agent's tool, posts results
  blackboard     the store where there is no Redis
  keeper         keeps an instance's processes running in local mode
  repository     prepares agents' private trees and holds their commits
  model-gateway  passes agents' calls to models, with the keys, within budgets
  llm            the tool of agents that have a model and no command
  notifier       tells people of questions and ends, where sett.yml has notify
  pause          holds a network namespace for containers
`

// printOverview prints the page for new users.
func printOverview(on *term.Terminal, root *grammar.Command) {
	on.Printf("%s%s", term.Fill(intro), start)
	for _, g := range groups(root) {
		var t term.Definitions
		for _, n := range g {
			t = append(t, [2]string{"  " + n.Name, n.Help})
		}
		on.Printf("\n%s\n%s", g[0].Group, t)
	}
	on.Printf("%s\nFlags of every command:\n%s", roles, flagTable(root))
	on.Printf("\n%s\n\nsett COMMAND --help says more about each.\n", role.CodesHelp)
}

// groups returns the commands that help shows, one list for each group, in order.
func groups(root *grammar.Command) [][]*grammar.Command {
	var all [][]*grammar.Command
	for _, n := range root.Visible() {
		if last := len(all) - 1; last >= 0 && all[last][0].Group == n.Group {
			all[last] = append(all[last], n)
		} else {
			all = append(all, []*grammar.Command{n})
		}
	}
	return all
}

// Help prints the page of the command that the words name; none: the overview.
func Help(on *term.Terminal, root *grammar.Command, typed []string) error {
	n, err := commandOf(root, typed)
	if err != nil {
		return err
	}
	if n == nil {
		printOverview(on, root)
	} else {
		commandHelp(on, n)
	}
	return nil
}

// commandOf returns the command that words name; nil when there are none.
func commandOf(root *grammar.Command, typed []string) (*grammar.Command, error) {
	if len(typed) == 0 {
		return nil, nil
	}
	c := root.Command(typed[0])
	if c == nil {
		var known []string
		for _, n := range root.Visible() {
			known = append(known, n.Name)
		}
		return nil, role.Fail(role.Usage, fmt.Errorf("no help: unknown command %s", role.Clean(typed[0])), "%s", words.DidYouMean(typed[0], known, ""))
	}
	return c.Find(typed[1:]), nil
}

func commandHelp(on *term.Terminal, n *grammar.Command) {
	on.Printf("%s\n\nUsage: sett %s", n.Help, n.Path())
	if len(n.Commands) > 0 {
		on.Printf(" COMMAND …")
	}
	if len(n.Flags) > 0 {
		on.Printf(" [FLAGS]")
	}
	for _, p := range n.Arguments {
		on.Printf(" %s", p.Usage())
	}
	on.Printf("\n")
	about, examples := SplitExamples(n.Detail)
	if len(examples) > 0 {
		on.Printf("\nExamples:\n  %s\n", strings.Join(examples, "\n  "))
	}
	var commands, arguments term.Definitions
	for _, child := range n.Commands {
		commands = append(commands, [2]string{"  " + child.Name, child.Help})
	}
	for _, p := range n.Arguments {
		if p.Help != "" {
			arguments = append(arguments, [2]string{"  " + strings.ToUpper(p.Name), p.Help})
		}
	}
	titled(on, "Commands", commands)
	titled(on, "Arguments", arguments)
	titled(on, "Flags", flagTable(n))
	if about != "" {
		on.Printf("\n%s", term.Fill(about))
	}
	if fieldsOf(n) != "" {
		on.Printf("\nFields of -o json: sett help fields %s\n", n.Path())
	}
	on.Printf("\nFlags of every command and exit codes: sett --help\n")
}

// titled prints a table under its title, unless it is empty.
func titled(on *term.Terminal, title string, t term.Definitions) {
	if len(t) > 0 {
		on.Printf("\n%s:\n%s", title, t)
	}
}

// flagTable lists the flags of a command; of sett itself, those of every command.
func flagTable(n *grammar.Command) term.Definitions {
	var t term.Definitions
	for _, f := range n.Flags {
		if f.Hidden {
			continue
		}
		s := "      --" + f.Name
		if f.Short != 0 {
			s = "  -" + string(f.Short) + ", --" + f.Name
		}
		switch value := f.Placeholder; {
		case strings.HasPrefix(value, "["): // an optional value, written as [=VALUE]
			s += value
		case value != "":
			s += " " + value
		}
		t = append(t, [2]string{s, f.Help})
	}
	if n.Parent == nil {
		t = append(t, [2]string{"  -h, --help", "Show help for a command."},
			[2]string{"      --version", "Say which sett this is, as sett version does."})
	}
	return t
}
