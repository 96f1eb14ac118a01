package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/model"
	"sett/roles/cli/instance"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type retryCmd struct {
	ID  string   `arg:"" name:"id" help:"A goal that failed, a Failure, or the claim that failed: any part of its id's beginning or end that is unique, or @last, the newest goal."`
	Why []string `arg:"" optional:"" help:"Why it will go better this time, as plain words; - reads it from standard input."`

	Budget string `placeholder:"MORE" help:"First add to the budget for models that ended it: cost=5,tokens=1M,calls=10,time=1h."`
	following
}

// Help is shown by `sett retry --help`.
func (retryCmd) Help() string {
	return `Tries a failed or cancelled claim again, or of a goal all that failed. Clears the failure
and makes the goal active again. A new claim on the same artefact goes on where the old one
ended: bids, finished phases and answers count; failed or stopped work is done anew, and a
question from before a rework is asked again. The new claim's id goes to stdout, a line for
each.

A claim whose feedback led to a rework is not retried: retry the rework's claim. Feedback
that led to none, because its agent had left sett.yml or the limit was reached, is decided
about anew, once the agent is back or the limit is raised: a result that did not land takes its
turn to land anew. A goal that max_artefacts ended goes on once that is raised. A goal that was
rejected has nobody to rework it.

With --wait, what happens goes to stderr, and the exit code says how the goal ended, as with
sett forage --wait.

` + whoHelp + `

Examples:
  sett retry @last
  sett retry 7XK2ABCD "The disk was full."
  sett retry 7XK2ABCD --budget cost=5
  sett retry 7XK2ABCD --wait`
}

// Run retries the claim.
func (c *retryCmd) Run(a *app) error {
	limit, err := c.limit("retry " + role.Clean(c.ID))
	if err != nil {
		return err
	}
	more, err := c.more()
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
	f, err := retriable(a, b, in, c.ID)
	if err != nil {
		return err
	}
	why, err := typedReason(a, c.Why)
	if err != nil {
		return err
	}
	if err := futile(a, b, in, f.claims); err != nil {
		return err
	}
	if err := instance.EnsureBase(a.ctx, a.at, b, in, f.goal); err != nil {
		return err
	}
	from, err := b.Ledger.Last(a.ctx)
	if err != nil {
		return err
	}
	if err := raiseBudgets(a, b, in, f, more); err != nil {
		return err
	}
	for _, end := range f.ends {
		if err := retryEnd(a, b, in, end, why); err != nil {
			return err
		}
	}
	for _, claim := range f.claims {
		if err := retryClaim(a, b, in, claim, why); err != nil {
			return err
		}
	}
	noteUnapplied(a, in)
	if !c.Wait.given {
		return nil
	}
	return a.await(ctx, b, in, f.goal, from, limit, c.Logs)
}

// futile refuses claims of which nothing can change with the settings as they are: the agent of failed work has
// left sett.yml, or feedback on an artefact can still not lead to a rework.
func futile(a *app, b *instance.Board, in *instance.Instance, claims []string) error {
	cfg, err := in.Config()
	if err != nil {
		return err
	}
	all, each, err := b.Records.Snapshots(a.ctx, claims)
	if err != nil {
		return err
	}
	for i, c := range all {
		if each[i] != nil {
			return each[i]
		}
		if cfg.Supersedes(c.Claim.Target) {
			continue // it ends at once, and its goal goes on
		}
		for _, g := range c.Grants {
			if _, known := cfg.Agent(g.Agent); g.OfAgent() && !known && g.State != blackboard.GrantDone {
				return role.Fail(role.Failed, fmt.Errorf("retry claim %s: agent %s, whose work failed, is no longer in sett.yml", words.Short(claims[i]), role.Clean(g.Agent)), "%s", putBack(a, in, g.Agent))
			}
		}
		open, err := undecided(a.ctx, b, c)
		if err != nil {
			return err
		}
		if why, hint := barOf(a, in, cfg, c.Claim.Target); open && why != "" {
			return role.Fail(role.Failed, fmt.Errorf("retry claim %s: %s", words.Short(claims[i]), why), "%s", hint)
		}
	}
	return nil
}

// undecided says whether a retry of a claim does nothing but decide anew about feedback that led to no rework.
func undecided(ctx context.Context, b *instance.Board, c blackboard.Snapshot) (bool, error) {
	if c.Claim.Status != blackboard.Terminated || c.Claim.RetriedAs != "" || c.Claim.Target.Agent == "" || !c.FedBack() {
		return false, nil
	}
	_, err := b.Records.Snapshot(ctx, blackboard.ReworkClaimID(c.Claim.ID))
	if errors.Is(err, blackboard.ErrNotFound) {
		return true, nil
	}
	return false, err
}

// barOf says why an artefact cannot be reworked with the settings as they are, and the way out; empty: it can.
func barOf(a *app, in *instance.Instance, cfg *config.Config, t blackboard.Target) (why, hint string) {
	o := cfg.Orchestrator
	switch t.ReworkBar(cfg.Names(), o.MaxReviewIterations, o.OnReviewLimit == config.ReviewLimitAsk) {
	case blackboard.TypeReviewLimit:
		return fmt.Sprintf("version %d of %s has used up max_review_iterations: %d", t.Version, role.Clean(t.Type), o.MaxReviewIterations),
			"raise orchestrator.max_review_iterations in sett.yml, then " + a.at.UpLine(in)
	case blackboard.TypeAgentRemoved:
		return fmt.Sprintf("agent %s, which made %s, is no longer in sett.yml", role.Clean(t.Agent), role.Clean(t.Type)), putBack(a, in, t.Agent)
	}
	return "", ""
}

// putBack is the hint for want of an agent.
func putBack(a *app, in *instance.Instance, agent string) string {
	return fmt.Sprintf("put %s back into sett.yml, then %s; or post the goal anew: %s", role.Clean(agent), a.at.UpLine(in), a.at.CommandLine(in, `forage --goal "…"`))
}

// retryClaim tries a claim again.
func retryClaim(a *app, b *instance.Board, in *instance.Instance, claim, why string) error {
	id := a.NewID()
	err := b.People.Retry(a.ctx, claim, id, a.Who(), why)
	if errors.Is(err, blackboard.ErrStopping) {
		return instance.TakesNo(a.at, in, "work")
	}
	if err != nil {
		return refusal("retry claim "+words.Short(claim), err, afterNoRetry(a, b, in, claim))
	}
	a.printID(id)
	up := ""
	if c, err := b.Records.Snapshot(a.ctx, id); err == nil {
		up = view.Up(c)
	}
	a.Sayf("sett: claim %s is tried again as claim %s%s\n", words.Short(claim), words.Short(id), up)
	return nil
}

// more reads the addition to the budget.
func (c *retryCmd) more() (model.Budget, error) {
	if c.Budget == "" {
		return model.Budget{}, nil
	}
	more, _, err := model.ParseMore("more: " + c.Budget)
	return more, role.Fail(role.Usage, err, "--budget cost=5,tokens=1M,calls=10,time=1h adds to the budget that ended it")
}

// raiseBudgets adds to the budgets by which grants of the one claim failed; where none of these
// is a grant's own, to the goal's.
func raiseBudgets(a *app, b *instance.Board, in *instance.Instance, f failed, more model.Budget) error {
	switch {
	case more.IsZero():
		return nil
	case len(f.claims) != 1:
		return role.Fail(role.Usage, fmt.Errorf("--budget is for one claim, and %d of the goal failed", len(f.claims)), "%s lists them; sett retry ID --budget tries one", a.at.CommandLine(in, "show "+words.Short(f.goal)))
	}
	word := a.NewID() // names the move
	old, err := b.Records.Snapshot(a.ctx, f.claims[0])
	if err != nil {
		return err
	}
	var raises []blackboard.Raise
	goal := blackboard.Raise{Word: word, Workflow: old.Claim.WorkflowID, More: more, By: a.Who()}
	ofGoal := false
	for _, g := range old.Grants {
		if g.State != blackboard.GrantFailed || g.ResultID == "" {
			continue
		}
		failure, err := b.Records.Artefact(a.ctx, g.ResultID)
		if err != nil {
			return err
		}
		var report blackboard.FailureReport
		switch {
		case json.Unmarshal([]byte(failure.Payload), &report) != nil || report.Budget == nil:
		case report.Budget.Of == blackboard.BudgetOfGrant:
			own := goal
			own.Word, own.Claim, own.Agent = word+" "+g.Agent, old.Claim.ID, g.Agent
			raises = append(raises, own)
		default:
			ofGoal = true
		}
	}
	if ofGoal || len(raises) == 0 {
		raises = append(raises, goal)
	}
	for _, r := range raises {
		if err := b.People.RaiseBudget(a.ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// failed is the work that failed and that an id means.
type failed struct {
	goal   string
	claims []string
	ends   []blackboard.Artefact // Failures of the goal that belong to no claim
}

// retriable returns what an id means: its own claim, a Failure or the claim of one, or all of a goal that failed.
func retriable(a *app, b *instance.Board, in *instance.Instance, part string) (f failed, err error) {
	id, kind, err := a.resolve(a.ctx, b, part, blackboard.KindArtefact, blackboard.KindClaim)
	if err != nil {
		return f, err
	}
	if kind == blackboard.KindClaim {
		c, err := b.Records.Snapshot(a.ctx, id)
		return failed{goal: c.Claim.WorkflowID, claims: []string{id}}, err
	}
	artefact, err := b.Records.Artefact(a.ctx, id)
	f.goal = artefact.WorkflowID
	switch {
	case err != nil:
		return f, err
	case artefact.StructuralType == blackboard.Failure && artefact.ClaimID != "":
		f.claims = []string{artefact.ClaimID}
		return f, nil
	case artefact.StructuralType == blackboard.Failure:
		f.ends = []blackboard.Artefact{artefact}
		return f, endless(a, b, in, artefact)
	case isGoal(artefact):
		return failedOf(a, b, in, id)
	}
	return f, role.Fail(role.NotFound, fmt.Errorf("%s is no Failure and no claim, it is %s", words.Short(id), view.Title(artefact)), "%s", a.at.CommandLine(in, "show "+words.Short(id)))
}

// endless refuses the retry of a Failure after which its goal cannot go on.
func endless(a *app, b *instance.Board, in *instance.Instance, f blackboard.Artefact) error {
	if blackboard.CanRetryEnd(f.Type) {
		return nil
	}
	w, err := b.Records.Workflow(a.ctx, f.WorkflowID)
	if err != nil {
		return err
	}
	if l := w.Landing; f.Type == blackboard.TypeCancelled && l != nil && l.State != blackboard.LandingLanded && w.TerminalID != "" {
		branch := l.Branch
		if cfg, err := in.Config(); err == nil && cfg.Land != nil && branch == "" {
			branch = cfg.Land.Onto
		}
		return role.Fail(role.Failed, fmt.Errorf("retry %s: %s cancelled the goal before its result landed, and it goes on no more", view.Named(f), view.Maker(f)),
			"%s brings its result to the branch", a.at.CommandLine(in, words.Land(words.Short(w.ID), branch)))
	}
	return role.Fail(role.Failed, fmt.Errorf("retry %s: it ended the goal, not a claim", view.Named(f)), "%s posts a goal anew", a.at.CommandLine(in, `forage --goal "…"`))
}

// failedOf returns all of a goal that failed and was not tried again. Without any, the error says why.
func failedOf(a *app, b *instance.Board, in *instance.Instance, goal string) (f failed, err error) {
	all, err := view.FailedOf(a.ctx, status.BoardOf(b), goal)
	if err != nil {
		return f, err
	}
	f.goal, f.claims = goal, all.Claims
	for _, id := range all.Ends {
		end, err := b.Records.Artefact(a.ctx, id)
		if err == nil {
			err = endless(a, b, in, end)
		}
		if err != nil {
			return f, err
		}
		f.ends = append(f.ends, end)
	}
	if all.None() {
		if by := view.RetriedBy(a.ctx, status.BoardOf(b), b.Ledger, all.Workflow); by != "" {
			return f, role.Fail(role.NotFound, fmt.Errorf("nothing to retry: %s had goal %s tried again, and it is %s", role.Clean(by), words.Short(goal), all.Workflow.Status), "%s", a.at.CommandLine(in, "show "+words.Short(goal)))
		}
		return f, role.Fail(role.NotFound, fmt.Errorf("nothing to retry: goal %s is %s, and nothing of it failed", words.Short(goal), all.Workflow.Status), "%s", a.at.CommandLine(in, "show "+words.Short(goal)))
	}
	return f, nil
}

// retryEnd has a goal go on after a Failure that belongs to no claim.
func retryEnd(a *app, b *instance.Board, in *instance.Instance, f blackboard.Artefact, why string) error {
	goal := words.Short(f.WorkflowID)
	w, err := b.Records.Workflow(a.ctx, f.WorkflowID)
	if err != nil {
		return err
	}
	cfg, err := in.Config()
	if err != nil {
		return err
	}
	limit, hint := f.Type == blackboard.TypeWorkflowLimit, a.at.CommandLine(in, "show "+goal)
	if limit {
		hint = fmt.Sprintf("where the limit is too low: raise orchestrator.max_artefacts in sett.yml, then %s, then %s; else %s", a.at.UpLine(in), a.at.CommandLine(in, "retry "+goal), hint)
	}
	err = b.People.RetryGoal(a.ctx, blackboard.GoalRetry{Workflow: f.WorkflowID, Failure: f.ID, Type: f.Type, Word: a.NewID(), MaxArtefacts: cfg.Orchestrator.MaxArtefacts}, a.Who(), why)
	switch {
	case errors.Is(err, blackboard.ErrStopping):
		return instance.TakesNo(a.at, in, "work")
	case err != nil:
		return refusal("retry "+view.Named(f), err, hint)
	case limit && (w.Landing == nil || w.Landing.State != blackboard.LandingNone):
		a.Sayf("sett: goal %s goes on: its artefacts without a claim get one\n", goal)
		return nil
	}
	a.Sayf("sett: goal %s goes on: its result takes its turn to land\n", goal)
	noteBarred(a, b, in, cfg, w)
	return nil
}

// noteBarred says that the next conflict, or feedback, fails the goal again: its result can still not be reworked.
func noteBarred(a *app, b *instance.Board, in *instance.Instance, cfg *config.Config, w blackboard.Workflow) {
	if w.Landing == nil {
		return
	}
	r, err := b.Records.Artefact(a.ctx, w.Landing.Artefact)
	if err != nil {
		return
	}
	target := r.Target()
	if latest, err := b.Records.LatestVersions(a.ctx, []string{r.LogicalID}); err == nil && latest[r.LogicalID] != r.ID {
		if last, err := b.Records.Artefact(a.ctx, latest[r.LogicalID]); err == nil {
			target.Version = last.Version
		}
	}
	if why, hint := barOf(a, in, cfg, target); why != "" {
		a.Sayf("sett: note: with a conflict or feedback it fails again: %s; %s\n", why, hint)
	}
}

// afterNoRetry returns the command to type when a claim cannot be retried.
func afterNoRetry(a *app, b *instance.Board, in *instance.Instance, claim string) string {
	c, err := view.LastTry(a.ctx, b.Records, claim)
	if err == nil && c.Claim.ID != claim && c.Claim.Status == blackboard.Terminated {
		return a.at.CommandLine(in, "retry "+words.Short(c.Claim.ID)) // the last try failed as well
	}
	if err == nil {
		claim = c.Claim.ID
	}
	return a.at.CommandLine(in, "show "+words.Short(claim))
}
