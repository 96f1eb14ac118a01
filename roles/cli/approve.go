package cli

import (
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
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
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	var all []blackboard.Artefact
	for _, part := range c.IDs {
		held, err := a.atGate(b, in, part)
		if err != nil {
			return err
		}
		all = append(all, held)
	}
	var failed []error
	for _, held := range all {
		failed = append(failed, a.approve(b, in, held))
	}
	return joined(failed)
}

func (a *app) approve(b *redis.Board, in *instance, held blackboard.Artefact) error {
	err := b.Approve(a.ctx, held.ID, a.humanArtefact(blackboard.Review, held, "{}"), a.who())
	if err != nil {
		return refusal(fmt.Sprintf("approve %s", short(held.ID)), err, a.commandLine(in, "show "+short(held.ID)))
	}
	a.printf("%s\n", blackboard.GateReviewID(held.ID))
	next := "its claim opens"
	if held.StructuralType == blackboard.Terminal {
		next = a.goalNow(b, held.WorkflowID)
	}
	a.sayf("sett: %s %s is approved; %s\n", title(held), short(held.ID), next)
	return nil
}

// goalNow says how a goal is after somebody did something about it.
func (a *app) goalNow(b *redis.Board, id string) string {
	w, err := b.Workflow(a.ctx, id)
	switch {
	case err != nil:
		return fmt.Sprintf("goal %s goes on", short(id))
	case w.Status.Ended():
		return fmt.Sprintf("goal %s is %s", short(id), w.Status)
	}
	return fmt.Sprintf("goal %s goes on, %d outstanding", short(id), w.Outstanding)
}

// atGate returns the artefact that an id names, as long as it waits for approval.
func (a *app) atGate(b *redis.Board, in *instance, part string) (blackboard.Artefact, error) {
	id, kind, err := a.resolve(a.ctx, b, part, redis.KindArtefact, redis.KindClaim)
	if err != nil {
		return blackboard.Artefact{}, err
	}
	questions := a.commandLine(in, "questions")
	if kind == redis.KindClaim {
		return blackboard.Artefact{}, role.Fail(role.NotFound, fmt.Errorf("%s is a claim; what waits for approval is an artefact, which has none yet", short(id)),
			"%s; in a claim, sett review speaks about its artefact", questions)
	}
	artefact, err := b.Artefact(a.ctx, id)
	if err != nil {
		return artefact, err
	}
	gate, err := readGate(a.ctx, b, artefact)
	switch {
	case err != nil:
		return artefact, err
	case gate.isHeld():
		return artefact, nil
	case gate != nil:
		return artefact, role.Fail(role.Failed, fmt.Errorf("%s %s was %s %s ago", title(artefact), short(id), clean(gate.decision()), age(a.Now().Sub(gate.DecidedAt))),
			"%s", a.commandLine(in, "show "+short(id)))
	case artefact.StructuralType == blackboard.Question:
		return artefact, role.Fail(role.NotFound, fmt.Errorf("%s is a question, which wants an answer", short(id)), "%s", a.commandLine(in, "answer "+short(id)+` "…"`))
	}
	what := fmt.Sprintf("%s %s does not wait for approval", title(artefact), short(id))
	claim, err := lastTry(a.ctx, b, blackboard.BiddingClaimID(id))
	if err == nil && claim.Claim.Status == blackboard.PendingReview {
		return artefact, role.Fail(role.NotFound, fmt.Errorf("%s; its claim is in review", what), "%s",
			a.commandLine(in, "review "+short(id)+` --approve, or --feedback "…"`))
	}
	return artefact, role.Fail(role.NotFound, errors.New(what), "%s lists what does", questions)
}

// joined is the errors that are none left out; one alone stays what it is.
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
