package cli

import (
	"cmp"

	"sett/roles/cli/grammar"
)

type resultCmd struct {
	Goal string `arg:"" optional:"" help:"A goal, or anything that belongs to one: any part of its id's beginning or end that is unique (default: @last, the newest goal)."`
	payloadForm
}

// Help is shown by `sett result --help`.
func (resultCmd) Help() string {
	return `Writes the final result of a goal to stdout, as sett unearth writes any artefact: the
payload, byte for byte; where that is the hash of a commit, the commit. A goal without a
final result, because it goes on, failed or stalled, is an error with exit code 3.

@result stands for the result of the newest goal wherever an id is expected.

Examples:
  sett result
  sett result 7XK2ABCD > report.md
  sett result -o json
  sett why @result`
}

// Run writes the result.
func (c *resultCmd) Run(a *app) error {
	if err := c.check("result"); err != nil {
		return err
	}
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	goal, err := a.resolveWorkflow(a.ctx, b, cmp.Or(c.Goal, grammar.LastGoal))
	if err != nil {
		return err
	}
	id, err := terminalOf(a.ctx, b, goal)
	if err != nil {
		return err
	}
	return c.print(a, subject{b: b, in: in, id: id})
}
