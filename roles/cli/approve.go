package cli

import (
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type approveCmd struct {
	IDs []string `arg:"" name:"id" help:"What waits for approval: any part of its id's beginning or end that is unique. Several are approved one after another."`
}

// Help is shown by `sett approve --help`.
func (approveCmd) Help() string {
	return `Lets artefacts pass that wait for approval, because sett.yml says so of their type
(approve). Agents bid on what was approved; a Terminal that was approved counts. The id of
each Review that says so goes to stdout. sett questions lists what waits.

When one of several does not wait for approval, none is approved.

` + whoHelp + `

Example: sett approve 7XK2ABCD`
}

// Run approves the artefacts.
func (c *approveCmd) Run(a *app) error {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	var all []blackboard.Artefact
	for _, part := range c.IDs {
		held, err := atGate(a, b, in, part)
		if err != nil {
			return err
		}
		all = append(all, held)
	}
	var failed []error
	for _, held := range all {
		failed = append(failed, approveGate(a, b, in, held))
	}
	return joined(failed)
}

func approveGate(a *app, b *instance.Board, in *instance.Instance, held blackboard.Artefact) error {
	err := b.People.Approve(a.ctx, held.ID, humanArtefact(a, blackboard.Review, held, "{}"), a.Who())
	if err != nil {
		return refusal(fmt.Sprintf("approve %s", words.Short(held.ID)), err, a.at.CommandLine(in, "show "+words.Short(held.ID)))
	}
	a.Printf("%s\n", blackboard.GateReviewID(held.ID))
	next := "its claim opens"
	if held.StructuralType == blackboard.Terminal {
		next = goalNow(a, b, held.WorkflowID)
	}
	a.Sayf("sett: %s is approved; %s\n", view.Named(held), next)
	return nil
}

// goalNow returns the goal's status after a person's decision.
func goalNow(a *app, b *instance.Board, id string) string {
	w, err := b.Records.Workflow(a.ctx, id)
	switch {
	case err != nil:
		return fmt.Sprintf("goal %s goes on", words.Short(id))
	case w.Status.Ended():
		return fmt.Sprintf("goal %s is %s", words.Short(id), w.Status)
	}
	return fmt.Sprintf("goal %s goes on, %d outstanding", words.Short(id), w.Outstanding)
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
		return artefact, role.Fail(role.Failed, fmt.Errorf("%s was %s %s ago", view.Named(artefact), role.Clean(gate.Decision()), words.Age(a.Now().Sub(gate.DecidedAt))),
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
