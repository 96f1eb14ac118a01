package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type cancelCmd struct {
	ID  string   `arg:"" name:"id" help:"A claim or a goal: any part of its id's beginning or end that is unique, or @last, the newest goal."`
	Why []string `arg:"" help:"Why, as plain words; - reads it from standard input."`
}

// Help is shown by `sett cancel --help`.
func (cancelCmd) Help() string {
	return `Ends a claim, or a goal with all its claims: what runs for it is stopped, its questions are
closed, and a Failure of type Cancelled says who did it and why. Its id goes to stdout.
Where the goal's result is just being landed, it is said whether the branch has it.

A claim that was cancelled can be tried again with sett retry, a goal cannot. What has been
done stays on the blackboard, and what a stopped tool changed is kept (sett leftovers); a
claim whose last result is in is not cancelled any more.

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
	claim, about, err := cancellable(a, on.b, on.in, on.id, on.kind)
	if err != nil {
		return err
	}
	why, err := typedReason(a, c.Why)
	if err != nil {
		return err
	}
	if why == "" {
		return role.Fail(role.Usage, errors.New("say why; it is recorded, and shown to everybody"), "%s", a.at.CommandLine(on.in, "cancel "+words.Short(on.id)+` "why"`))
	}
	from, err := on.b.Ledger.Last(a.ctx)
	if err != nil {
		return err
	}
	failure, err := cancellation(a, about, claim, why)
	if err != nil {
		return err
	}
	what := "goal " + words.Short(on.id)
	if claim != "" {
		what = "claim " + words.Short(on.id)
		err = on.b.People.CancelClaim(a.ctx, claim, failure, a.Who(), why)
	} else {
		err = on.b.People.CancelWorkflow(a.ctx, on.id, failure, a.Who(), why)
	}
	if err != nil {
		return refusal("cancel "+what, err, a.at.CommandLine(on.in, "show "+words.Short(on.id)))
	}
	a.printID(failure.ID)
	a.Sayf("sett: %s is cancelled%s; %s\n", what, stoppedBy(a, on.b, from, failure.ID), goalNow(a, on.b, about.WorkflowID))
	if claim != "" {
		a.Sayf("sett: %s tries it again\n", a.at.CommandLine(on.in, "retry "+words.Short(failure.ID)))
		return nil
	}
	sayLanded(a, on.b, on.in, on.id)
	return nil
}

// sayLanded says whether the result of a goal that was cancelled while its branch was being moved is on the branch. The goal is
// cancelled in any case.
func sayLanded(a *app, b *instance.Board, in *instance.Instance, goal string) {
	w, err := awaitGoal(a, b, goal, func(w blackboard.Workflow) bool {
		return w.Landing == nil || w.Landing.State != blackboard.LandingMoving
	})
	if err != nil || w.Landing == nil {
		return
	}
	switch l := w.Landing; l.State {
	case blackboard.LandingLanded:
		a.Sayf("sett: its result has landed on branch %s all the same, as %s; before that the branch was at %s\n", role.Clean(l.Branch), words.Commit(l.Commit), words.Commit(l.Tip))
	case blackboard.LandingMoving:
		a.Sayf("sett: its result was being landed on branch %s, and may be there; %s will say\n", role.Clean(l.Branch), a.at.CommandLine(in, "show "+words.Short(goal)))
	}
}

// awaitGoal reads a goal until it is as wanted, or for five seconds: the orchestrator acts on a person's move within a moment.
func awaitGoal(a *app, b *instance.Board, goal string, wanted func(blackboard.Workflow) bool) (blackboard.Workflow, error) {
	const most, look = 5 * time.Second, 20 * time.Millisecond
	for began := time.Now(); ; role.Pause(a.ctx, look) {
		w, err := b.Records.Workflow(a.ctx, goal)
		if err != nil || wanted(w) || time.Since(began) > most || a.ctx.Err() != nil {
			return w, err
		}
	}
}

// cancellable returns the claim to cancel, empty for a goal, and the claim's or the
// goal's artefact.
func cancellable(a *app, b *instance.Board, in *instance.Instance, id string, kind blackboard.Kind) (claim string, about blackboard.Artefact, err error) {
	if kind == blackboard.KindClaim {
		c, err := b.Records.Snapshot(a.ctx, id)
		if err != nil {
			return "", about, err
		}
		about, err = b.Records.Artefact(a.ctx, c.Claim.ArtefactID)
		return id, about, err
	}
	if about, err = b.Records.Artefact(a.ctx, id); err != nil || isGoal(about) {
		return "", about, err
	}
	what := fmt.Errorf("%s is neither a claim nor a goal, it is %s", words.Short(id), view.Title(about))
	hint := a.at.CommandLine(in, "cancel "+words.Short(about.WorkflowID)+` "why"`) + " cancels its goal"
	c, err := view.LastTry(a.ctx, b.Records, blackboard.BiddingClaimID(id))
	if errors.Is(err, blackboard.ErrNotFound) && about.ClaimID != "" { // no claim works on it: take the claim that made it
		c, err = b.Records.Snapshot(a.ctx, about.ClaimID)
	}
	if err == nil && !c.Claim.Status.Closed() {
		hint = a.at.CommandLine(in, "cancel "+words.Short(c.Claim.ID)+` "why"`) + " cancels its claim, " + hint
	}
	return "", about, role.Fail(role.NotFound, what, "%s", hint)
}

// isGoal says whether an artefact is a goal.
func isGoal(a blackboard.Artefact) bool {
	return a.Type == blackboard.TypeGoalDefined && a.WorkflowID == a.ID
}

// cancellation is the Failure of a cancelled claim or goal, with the person and the
// reason.
func cancellation(a *app, about blackboard.Artefact, claim, why string) (blackboard.Artefact, error) {
	reason := fmt.Sprintf("cancelled by %s: %s", a.Who(), why)
	payload, err := json.Marshal(blackboard.FailureReport{Reason: reason, ExitCode: -1})
	if err != nil {
		return blackboard.Artefact{}, fmt.Errorf("write failure: %w", err)
	}
	f := humanArtefact(a, blackboard.Failure, about, string(payload))
	f.Type, f.Summary, f.ClaimID = blackboard.TypeCancelled, reason, claim
	return f, nil
}

// stoppedBy names the work that the cancellation with this Failure stopped. It reads
// the ledger after a position; empty when the ledger cannot tell.
func stoppedBy(a *app, b *instance.Board, from, failure string) string {
	const page = 500
	for {
		events, err := b.Ledger.History(a.ctx, from, page)
		if err != nil {
			return ""
		}
		for _, e := range events {
			if from = e.ID; e.Kind == blackboard.EventCancel && e.Attributes[blackboard.AttributeResult] == failure {
				if s := view.Stopped(e); s != "" {
					return ", stopped: " + role.Clean(s)
				}
				return ", nothing was running"
			}
		}
		if len(events) < page {
			return ""
		}
	}
}
