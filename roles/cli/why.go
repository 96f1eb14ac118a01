package cli

import (
	"cmp"
	"errors"

	"sett/blackboard"
	"sett/roles/cli/chart"
	"sett/roles/cli/grammar"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role/words"
	"sett/roles/view/lineage"
)

type whyCmd struct {
	ID string `arg:"" optional:"" help:"An artefact or claim: any part of its id's beginning or end that is unique (default: @last, the newest goal). Of a goal that has ended: its Terminal or Failure."`
	term.Form
}

// Help is shown by `sett why --help`.
func (whyCmd) Help() string {
	return `Says how something came to be: the chain of claims from the goal to an artefact, or to a
claim. At each step: why the claim was opened and on what; the bids in the order they came in;
who was granted what, how long it waited and ran, and what came of it; what Reviews said;
questions and who answered; what waited for approval and who gave it; what was retried or
cancelled, by whom and why. What a step's artefact was also made from is named beside it.

json and yaml are one object with "steps", oldest first; jsonl is one step per line.

Examples:
  sett why
  sett why 7XK2ABCD
  sett why 7XK2ABCD -o json`
}

// Run shows the chain.
func (c *whyCmd) Run(a *app) error {
	on, err := a.about(cmp.Or(c.ID, grammar.LastGoal))
	if err != nil {
		return err
	}
	defer on.done()
	if on.id, err = onlyOutcome(a, on); err != nil {
		return err
	}
	v, err := lineage.ReadWhy(a.ctx, status.BoardOf(on.b), on.b.Ledger, on.id, on.kind)
	if err != nil {
		return err
	}
	err = a.Emit(c.Form, term.Shown{Whole: v, Lines: v.Steps, Table: func() error { return chart.Why(&a.Terminal, v) }})
	return cmp.Or(err, term.LeftOut(v.Broken).Failure())
}

// onlyOutcome returns the Terminal or Failure in place of a goal that has ended: the
// goal itself has no history. It returns every other id unchanged.
func onlyOutcome(a *app, on subject) (string, error) {
	id := on.id
	if on.kind == blackboard.KindClaim {
		return id, nil
	}
	w, err := on.b.Records.Workflow(a.ctx, id)
	if errors.Is(err, blackboard.ErrNotFound) {
		return id, nil // no goal
	}
	if err != nil {
		return "", err
	}
	last := w.TerminalID
	if w.Status == blackboard.WorkflowFailed {
		last = w.FailureID
	}
	if !w.Status.Ended() || last == "" {
		a.Sayf("sett: note: goal %s is %s; %s says how far it has come\n", words.Short(id), w.Status, a.at.CommandLine(on.in, "show "+words.Short(id)))
		return id, nil
	}
	a.Sayf("sett: note: how goal %s was %s\n", words.Short(id), w.Status)
	return last, nil
}
