package cli

import (
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type retryCmd struct {
	ID  string   `arg:"" name:"id" help:"A Failure, or the claim that failed: any part of its id's beginning or end that is unique."`
	Why []string `arg:"" optional:"" help:"Why it will go better this time, as plain words; - reads it from standard input."`
	following
}

// Help is shown by `sett retry --help`.
func (retryCmd) Help() string {
	return `Has a claim that failed, or was cancelled, tried again: a new claim on the same artefact
goes on where that one was. Bids, finished phases and answers count; what failed or was
stopped is done anew, and what was asked before a rework is asked again. Its Failures count no longer, and the goal is active again. The new
claim's id goes to stdout.

A claim whose feedback led to a rework is not retried: retry the rework's claim. Feedback
that led to none, because its agent had left sett.yml or the limit was reached, is decided
about anew. A goal that was rejected has nobody to rework it.

With --wait, what happens goes to stderr, and the exit code says how the goal ended, as with
sett forage --wait.

` + whoHelp + `

Examples:
  sett retry 7XK2ABCD "The disk was full."
  sett retry 7XK2ABCD --wait`
}

// Run retries the claim.
func (c *retryCmd) Run(a *app) error {
	limit, err := c.limit("retry " + clean(c.ID))
	if err != nil {
		return err
	}
	ctx, cancel := bounded(a.ctx, limit, nil)
	defer cancel()
	b, in, done, err := a.boardWithin(limit)
	if err != nil {
		return err
	}
	defer done()
	claim, err := a.retriable(b, in, c.ID)
	if err != nil {
		return err
	}
	why, err := a.why(c.Why)
	if err != nil {
		return err
	}
	old, err := b.Snapshot(a.ctx, claim)
	if err != nil {
		return err
	}
	from, err := b.Last(a.ctx)
	if err != nil {
		return err
	}
	id := a.NewID()
	err = b.Retry(a.ctx, claim, id, a.who(), why)
	if errors.Is(err, blackboard.ErrStopping) {
		return role.Fail(role.NotFound, fmt.Errorf("instance %s is being stopped and takes no new work", in.Name), "%s", a.upLine(in))
	}
	if err != nil {
		return refusal("retry claim "+short(claim), err, a.afterNoRetry(b, in, claim))
	}
	a.printf("%s\n", id)
	a.sayf("sett: claim %s is tried again as claim %s%s\n", short(claim), short(id), a.whoIsUp(b, id))
	if !c.Wait.given {
		return nil
	}
	return a.await(ctx, b, in, old.Claim.WorkflowID, from, limit)
}

// retriable returns the claim that an id means: its own, or that of a Failure.
func (a *app) retriable(b *redis.Board, in *instance, part string) (string, error) {
	id, kind, err := a.resolve(a.ctx, b, part, redis.KindArtefact, redis.KindClaim)
	if err != nil || kind == redis.KindClaim {
		return id, err
	}
	artefact, err := b.Artefact(a.ctx, id)
	if err != nil {
		return "", err
	}
	if artefact.StructuralType == blackboard.Failure && artefact.ClaimID != "" {
		return artefact.ClaimID, nil
	}
	what, hint := fmt.Sprintf("%s is no Failure and no claim, it is %s", short(id), title(artefact)), a.commandLine(in, "show "+short(id))
	code := role.NotFound
	switch {
	case artefact.StructuralType == blackboard.Failure:
		code, what = role.Failed, fmt.Sprintf("retry %s %s: it ended the goal, not a claim", title(artefact), short(id))
		hint = a.commandLine(in, `forage --goal "…"`) + " posts a goal anew"
		if artefact.Type == blackboard.TypeWorkflowLimit {
			hint = "raise orchestrator.max_artefacts in sett.yml, then sett up, then " + hint
		}
	case isGoal(artefact):
		w, err := b.Workflow(a.ctx, id)
		if err != nil || w.FailureID == "" {
			break
		}
		if f, err := b.Artefact(a.ctx, w.FailureID); err == nil && f.ClaimID != "" {
			hint = a.commandLine(in, "retry "+short(w.FailureID))
		} else {
			hint = a.commandLine(in, `forage --goal "…"`) + " posts a goal anew"
		}
	}
	return "", role.Fail(code, errors.New(what), "%s", hint)
}

// afterNoRetry is what to type where a claim cannot be retried.
func (a *app) afterNoRetry(b *redis.Board, in *instance, claim string) string {
	c, err := lastTry(a.ctx, b, claim)
	if err == nil && c.Claim.ID != claim && c.Claim.Status == blackboard.Terminated {
		return a.commandLine(in, "retry "+short(c.Claim.ID)) // the last try failed as well
	}
	if err == nil {
		claim = c.Claim.ID
	}
	return a.commandLine(in, "show "+short(claim))
}

// whoIsUp names the agents that work on a claim, or are to bid for it, or what a
// person is asked first.
func (a *app) whoIsUp(b *redis.Board, claim string) string {
	c, err := b.Snapshot(a.ctx, claim)
	if err != nil {
		return ""
	}
	var agents []string
	for _, g := range c.Grants {
		if g.State == blackboard.GrantAwaitingAnswer {
			return "; Question " + short(g.ResultID) + " waits for an answer again"
		}
		if !g.State.Ended() {
			agents = append(agents, g.Agent)
		}
	}
	switch missing := c.Missing(); {
	case len(agents) > 0:
		return ", by " + clean(strings.Join(agents, ", "))
	case len(missing) > 0 && c.Claim.Status == blackboard.PendingReview:
		return "; " + clean(strings.Join(missing, ", ")) + " have yet to bid"
	}
	return ""
}
