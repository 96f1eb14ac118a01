package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
)

type forageCmd struct {
	Goal string   `placeholder:"TEXT" help:"The goal."`
	File string   `placeholder:"FILE" help:"Read the goal from FILE; - is standard input."`
	Text []string `arg:"" optional:"" help:"The goal, as plain words; - reads it from standard input."`
	beginning
	following
}

// Help is shown by `sett forage --help`.
func (forageCmd) Help() string {
	return `Gives the clan a goal. Agents start from HEAD, in private trees of their own, so everything
has to be committed; --allow-dirty leaves out what is not, and --base starts from another
commit. Your own working tree stays as it is. The goal's id goes to stdout, unless that is a terminal.

With --wait, what happens goes to stderr, at last the commit that came of it; the exit code says how it ended: 0 achieved,
1 failed, 4 the time was not enough, 5 it waits for a person, 6 it ended without a
Terminal, 8 a budget ended it. The goal goes on, whoever stops waiting. --wait=10m and --wait --timeout 10m are
the same. On a terminal, questions and gates of the goal are asked right there, and following
goes on; an empty line leaves one open.

Examples:
  sett forage --goal "Add a --json flag to the report command" --wait
  sett forage --wait=10m Fix the flaky test in parser_test.go
  sett forage --base main "Fix the flaky test"
  sett forage - < goal.md`
}

// Run posts the goal.
func (c *forageCmd) Run(a *app) error {
	limit, err := c.limit("forage")
	if err != nil {
		return err
	}
	text, err := c.goal(a)
	if err != nil {
		return err
	}
	ctx, cancel := role.WithLimit(a.ctx, limit, nil)
	defer cancel()
	b, in, done, err := a.at.BoardWithin(a.ctx, limit)
	if err != nil {
		return err
	}
	defer done()
	base, err := c.find(a, in)
	if err != nil {
		return err
	}
	from, err := b.Ledger.Last(a.ctx)
	if err != nil {
		return err
	}
	instance.TellIgnored(a.ctx, a.at, in)
	instance.TellPointers(a.ctx, a.at, in, base.Commit) // and brings submodules, before any agent works
	id := a.NewID()
	err = post(a, b, in, blackboard.Artefact{
		ID: id, LogicalID: id, Version: 1, StructuralType: blackboard.Standard, Type: blackboard.TypeGoalDefined,
		Payload: text, ProducedByRole: blackboard.RoleUser, WorkflowID: id,
	}, base)
	if errors.Is(err, blackboard.ErrStopping) {
		return instance.TakesNo(a.at, in, "goals")
	}
	if err != nil {
		return err
	}
	warnOfAbsent(a, b, in)
	noteUnapplied(a, in)
	a.printID(id)
	if !c.Wait.given {
		goal, follow := "goal "+words.Short(id), words.Short(id)
		if role.IsTerminal(a.Stderr) {
			goal, follow = "the goal", grammar.LastGoal
		}
		a.Sayf("sett: %s is posted; %s follows it\n", goal, a.at.CommandLine(in, "watch --workflow "+follow))
		return nil
	}
	return a.await(ctx, b, in, id, from, limit, c.Logs)
}

// goal returns the goal's text. It may be given in one way only.
func (c *forageCmd) goal(a *app) (string, error) {
	const hint = `sett forage --goal "…"`
	words := strings.Join(c.Text, " ")
	given := 0
	for _, s := range []string{c.Goal, c.File, words} {
		if s != "" {
			given++
		}
	}
	if given > 1 {
		return "", role.Fail(role.Usage, errors.New("the goal is given twice"), "either --goal, --file or plain words")
	}
	text := c.Goal + words
	file := c.File
	if words == "-" || c.Goal == "-" {
		file = "-"
	}
	if file != "" {
		var err error
		if text, err = readText(a, "goal", file); err != nil {
			return "", err
		}
	}
	return text, checkText(a, "goal", text, hint)
}

// maxText is the longest text that a person may give, in bytes.
const maxText = 8 << 20

// readText reads a file of the user, relative to -C; - is standard input. It drops one
// newline at the end, which editors add.
func readText(a *app, what, name string) (string, error) {
	from := a.Stdin
	if name != "-" {
		path, err := a.at.Path(name)
		if err != nil {
			return "", err
		}
		f, err := os.Open(path)
		if err != nil {
			return "", role.Fail(role.Usage, fmt.Errorf("read %s from %s: %w", what, role.Clean(name), role.Cause(err)), "")
		}
		defer func() { _ = f.Close() }()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, maxText+1))
	if err == nil && len(text) > maxText {
		return "", role.Fail(role.Usage, fmt.Errorf("read %s: it is larger than %d MiB", what, maxText>>20), "commit it as a file, and name the file in the %s", what)
	}
	if err != nil {
		return "", role.Fail(role.Usage, fmt.Errorf("read %s: %w", what, role.Cause(err)), "")
	}
	return strings.TrimSuffix(string(text), "\n"), nil
}
