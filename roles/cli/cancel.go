package cli

import (
	"encoding/json"
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type cancelCmd struct {
	ID  string   `arg:"" name:"id" help:"A claim or a goal: any part of its id's beginning or end that is unique, or @last, the newest goal."`
	Why []string `arg:"" help:"Why, as plain words; - reads it from standard input."`
}

// Help is shown by `sett cancel --help`.
func (cancelCmd) Help() string {
	return `Ends a claim, or a goal with all its claims: what runs for it is stopped, its questions are
closed, and a Failure of type Cancelled says who did it and why. Its id goes to stdout.

A claim that was cancelled can be tried again with sett retry, a goal cannot. What has been
done stays on the blackboard and in the working tree; a claim whose last result is in is not
cancelled any more.

` + whoHelp + `

Examples:
  sett cancel 7XK2ABCD "It works on the wrong branch."
  sett cancel @last "No longer needed."`
}

// Run cancels the claim or goal.
func (c *cancelCmd) Run(a *app) error {
	on, err := a.about(c.ID)
	if err != nil {
		return err
	}
	defer on.done()
	claim, about, err := a.cancellable(on.b, on.in, on.id, on.kind)
	if err != nil {
		return err
	}
	why, err := a.why(c.Why)
	if err != nil {
		return err
	}
	if why == "" {
		return role.Fail(role.Usage, errors.New("say why; it is recorded, and shown to everybody"), "%s", a.commandLine(on.in, "cancel "+short(on.id)+` "why"`))
	}
	from, err := on.b.Last(a.ctx)
	if err != nil {
		return err
	}
	failure, err := a.cancelled(about, claim, why)
	if err != nil {
		return err
	}
	what := "goal " + short(on.id)
	if claim != "" {
		what = "claim " + short(on.id)
		err = on.b.CancelClaim(a.ctx, claim, failure, a.who(), why)
	} else {
		err = on.b.CancelWorkflow(a.ctx, on.id, failure, a.who(), why)
	}
	if err != nil {
		return refusal("cancel "+what, err, a.commandLine(on.in, "show "+short(on.id)))
	}
	a.printf("%s\n", failure.ID)
	a.sayf("sett: %s is cancelled%s; %s\n", what, a.stoppedBy(on.b, from, failure.ID), a.goalNow(on.b, about.WorkflowID))
	if claim != "" {
		a.sayf("sett: %s tries it again\n", a.commandLine(on.in, "retry "+short(failure.ID)))
	}
	return nil
}

// cancellable returns the claim that is meant, empty for a goal, and the artefact
// that it is about, which is the goal's own.
func (a *app) cancellable(b *redis.Board, in *instance, id string, kind redis.Kind) (claim string, about blackboard.Artefact, err error) {
	if kind == redis.KindClaim {
		c, err := b.Snapshot(a.ctx, id)
		if err != nil {
			return "", about, err
		}
		about, err = b.Artefact(a.ctx, c.Claim.ArtefactID)
		return id, about, err
	}
	if about, err = b.Artefact(a.ctx, id); err != nil || isGoal(about) {
		return "", about, err
	}
	what := fmt.Errorf("%s is neither a claim nor a goal, it is %s", short(id), title(about))
	hint := a.commandLine(in, "cancel "+short(about.WorkflowID)+` "why"`) + " cancels its goal"
	c, err := lastTry(a.ctx, b, blackboard.BiddingClaimID(id))
	if errors.Is(err, blackboard.ErrNotFound) && about.ClaimID != "" { // what no claim is on, a claim may wait for
		c, err = b.Snapshot(a.ctx, about.ClaimID)
	}
	if err == nil && !c.Claim.Status.Closed() {
		hint = a.commandLine(in, "cancel "+short(c.Claim.ID)+` "why"`) + " cancels its claim, " + hint
	}
	return "", about, role.Fail(role.NotFound, what, "%s", hint)
}

// isGoal says whether an artefact is a goal.
func isGoal(a blackboard.Artefact) bool {
	return a.Type == blackboard.TypeGoalDefined && a.WorkflowID == a.ID
}

// cancelled is the Failure that says who ended something, and why.
func (a *app) cancelled(about blackboard.Artefact, claim, why string) (blackboard.Artefact, error) {
	reason := fmt.Sprintf("cancelled by %s: %s", a.who(), why)
	payload, err := json.Marshal(blackboard.FailureReport{Reason: reason, ExitCode: -1})
	if err != nil {
		return blackboard.Artefact{}, fmt.Errorf("write failure: %w", err)
	}
	f := a.humanArtefact(blackboard.Failure, about, string(payload))
	f.Type, f.Summary, f.ClaimID = blackboard.TypeCancelled, reason, claim
	return f, nil
}

// stoppedBy says what the cancellation stopped whose Failure this is, as the ledger
// has it after a position; empty when that was nothing.
func (a *app) stoppedBy(b *redis.Board, from, failure string) string {
	const page = 500
	for {
		events, err := b.History(a.ctx, from, page)
		if err != nil {
			return ""
		}
		for _, e := range events {
			if from = e.ID; e.Kind == blackboard.EventCancel && e.Attributes[blackboard.AttributeResult] == failure {
				if s := stoppedText(e); s != "" {
					return ", stopped: " + clean(s)
				}
				return ", nothing was running"
			}
		}
		if len(events) < page {
			return ""
		}
	}
}
