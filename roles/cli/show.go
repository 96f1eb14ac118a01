package cli

import (
	"cmp"
	"errors"

	"sett/blackboard"
	"sett/roles/cli/chart"
	"sett/roles/cli/grammar"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/view"
)

type showCmd struct {
	ID       string `arg:"" optional:"" help:"A goal, claim or artefact: any part of its id's beginning or end that is unique (default: @last, the newest goal)."`
	NoClaims bool   `help:"Leave out a goal's claims, which is much faster where there are many."`
	term.Form
}

// Help is shown by `sett show --help`.
func (showCmd) Help() string {
	return `Says what something is and, while it is open, what it waits for: whose bid, whose result,
which question, whose free worker.

A goal is shown with its claims, and each claim with its bids, grants and results.

Examples:
  sett show
  sett show 7XK2ABCD -o json`
}

// Run shows the goal, claim or artefact of the id.
func (c *showCmd) Run(a *app) error {
	on, err := a.about(cmp.Or(c.ID, grammar.LastGoal))
	if err != nil {
		return err
	}
	defer on.done()
	r := status.Reader(a.at, on.b, on.in)
	var compared *ledger.Comparison
	r.Board, compared = ledger.Compare(on.b, r.Board)
	if on.kind == blackboard.KindClaim {
		v, err := r.ClaimDetail(a.ctx, on.id)
		return errors.Join(c.print(a, v, err, func() error { return chart.Claim(&a.Terminal, v) }), compared.Failure(a.Sayf))
	}
	artefact, err := r.Artefact(a.ctx, on.id)
	if err != nil {
		return err
	}
	return errors.Join(c.artefact(a, on, r, artefact), compared.Failure(a.Sayf))
}

// artefact shows an artefact, or the goal that it is.
func (c *showCmd) artefact(a *app, on subject, r view.Reader, artefact blackboard.Artefact) error {
	if artefact.Type == blackboard.TypeGoalDefined && artefact.WorkflowID == on.id {
		read := r.GoalDetail
		if c.NoClaims {
			read = r.GoalState
		}
		v, err := read(a.ctx, artefact)
		return c.print(a, v, err, func() error { return chart.Goal(&a.Terminal, v) })
	}
	v, err := r.ArtefactDetail(a.ctx, artefact)
	return c.print(a, v, err, func() error { return chart.Artefact(&a.Terminal, v) })
}

func (c *showCmd) print(a *app, v any, err error, text func() error) error {
	if err != nil {
		return err
	}
	return a.Emit(c.Form, term.Shown{Whole: v, Table: text})
}
