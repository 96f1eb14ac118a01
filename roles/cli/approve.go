package cli

import (
	"cmp"
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type approveCmd struct {
	IDs []string `arg:"" optional:"" name:"id" help:"What waits for approval: any part of its id's beginning or end that is unique. Several are approved one after another. It may be left out while one artefact waits."`
	All bool     `help:"Everything that waits for approval."`
}

// Help is shown by `sett approve --help`.
func (approveCmd) Help() string {
	return `Lets artefacts pass that wait for approval, because sett.yml says so of their type
(approve). Agents bid on what was approved; a Terminal that was approved counts. The id of
each Review that says so goes to stdout, unless that is a terminal. sett questions lists what
waits.

While one artefact waits, its id may be left out. When several do, they are listed with the
commands for each, and the exit code is 2.

When one of several does not wait for approval, none is approved.

` + whoHelp + `

Examples:
  sett approve
  sett approve 7XK2ABCD
  sett approve --all`
}

// Run approves the artefacts.
func (c *approveCmd) Run(a *app) error {
	if c.All && len(c.IDs) > 0 {
		return role.Fail(role.Usage, errors.New("--all approves everything that waits, and needs no id"), "sett approve --all")
	}
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	all, err := c.meant(a, b, in)
	if err == nil {
		err = ledger.Trust(a.ctx, b, all...)
	}
	if err != nil {
		return err
	}
	var failed []error
	for _, held := range all {
		failed = append(failed, approveGate(a, b, in, held))
	}
	return joined(failed)
}

// meant returns the artefacts to approve.
func (c *approveCmd) meant(a *app, b *instance.Board, in *instance.Instance) ([]blackboard.Artefact, error) {
	if c.All {
		waiting, err := openMatters(a, b, in, view.MatterGate)
		if err == nil && len(waiting) == 0 {
			err = noneWaits(a, in, view.MatterGate)
		}
		var all []blackboard.Artefact
		for _, m := range waiting {
			held, failed := b.Records.Artefact(a.ctx, m.ID)
			err = cmp.Or(err, failed)
			all = append(all, held)
		}
		return all, err
	}
	if len(c.IDs) == 0 {
		held, err := onlyMatter(a, b, in, view.MatterGate, a.at.CommandLine(in, "approve --all")+" approves them all")
		return []blackboard.Artefact{held}, err
	}
	var all []blackboard.Artefact
	for _, part := range c.IDs {
		held, err := atGate(a, b, in, part)
		if err != nil {
			return nil, err
		}
		all = append(all, held)
	}
	return all, nil
}

func approveGate(a *app, b *instance.Board, in *instance.Instance, held blackboard.Artefact) error {
	err := b.People.Approve(a.ctx, held.ID, humanArtefact(a, blackboard.Review, held, "{}"), a.Who())
	if err != nil {
		return refusal(fmt.Sprintf("approve %s", words.Short(held.ID)), err, a.at.CommandLine(in, "show "+words.Short(held.ID)))
	}
	a.printID(blackboard.GateReviewID(held.ID))
	next := "its claim opens"
	if held.StructuralType == blackboard.Terminal {
		next = goalNow(a, b, held.WorkflowID)
	}
	a.Sayf("sett: %s is approved; %s\n", nameOfHeld(a, held), next)
	return nil
}

// goalNow returns the goal's status after a person's decision.
func goalNow(a *app, b *instance.Board, id string) string {
	goal := "goal " + words.Short(id)
	if role.IsTerminal(a.Stderr) {
		goal = "the goal"
	}
	w, err := b.Records.Workflow(a.ctx, id)
	switch {
	case err != nil:
		return goal + " goes on"
	case w.Status.Ended():
		return fmt.Sprintf("%s is %s", goal, w.Status)
	}
	return fmt.Sprintf("%s goes on, %d outstanding", goal, w.Outstanding)
}

// nameOfHeld names an artefact that waits for approval; to a person without its id.
func nameOfHeld(a *app, held blackboard.Artefact) string {
	if role.IsTerminal(a.Stderr) {
		return view.Title(held) + " of " + view.Maker(held)
	}
	return view.Named(held)
}

// atGate returns the artefact that an id names, as long as it waits for approval.
func atGate(a *app, b *instance.Board, in *instance.Instance, part string) (blackboard.Artefact, error) {
	id, kind, err := a.resolve(a.ctx, b, part, blackboard.KindArtefact, blackboard.KindClaim)
	if err != nil {
		return blackboard.Artefact{}, err
	}
	questions := a.at.CommandLine(in, "questions")
	if kind == blackboard.KindClaim {
		return blackboard.Artefact{}, role.Fail(role.NotFound, fmt.Errorf("%s is a claim; what waits for approval is an artefact, which has none yet", words.Short(id)),
			"%s; in a claim, sett review speaks about its artefact", questions)
	}
	artefact, err := b.Records.Artefact(a.ctx, id)
	if err != nil {
		return artefact, err
	}
	gate, err := view.ReadGate(a.ctx, status.BoardOf(b), artefact)
	switch {
	case err != nil:
		return artefact, err
	case gate.IsHeld():
		return artefact, nil
	case gate != nil:
		return artefact, role.Fail(role.Failed, fmt.Errorf("%s was %s", view.Named(artefact), decided(a, gate)),
			"%s", a.at.CommandLine(in, "show "+words.Short(id)))
	case artefact.StructuralType == blackboard.Question:
		return artefact, role.Fail(role.NotFound, fmt.Errorf("%s is a question, which wants an answer", words.Short(id)), "%s", a.at.CommandLine(in, "answer "+words.Short(id)+` "…"`))
	}
	what := fmt.Sprintf("%s does not wait for approval", view.Named(artefact))
	claim, err := view.LastTry(a.ctx, b.Records, blackboard.BiddingClaimID(id))
	if err == nil && claim.Claim.Status == blackboard.PendingReview {
		return artefact, role.Fail(role.NotFound, fmt.Errorf("%s; its claim is in review", what), "%s",
			a.at.CommandLine(in, "review "+words.Short(id)+` --approve, or --feedback "…"`))
	}
	return artefact, role.Fail(role.NotFound, errors.New(what), "%s lists what does", questions)
}

// decided says how a person decided a gate, and when: "approved by dev 3s ago".
func decided(a *app, gate *view.Gate) string {
	return fmt.Sprintf("%s %s ago", role.Clean(gate.Decision()), words.Age(a.Now().Sub(gate.DecidedAt)))
}

// joined joins the errors and skips nil. A single error is returned unchanged.
func joined(all []error) error {
	var out []error
	for _, err := range all {
		if err != nil {
			out = append(out, err)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}
