package cli

import (
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type reviewCmd struct {
	ID       string  `arg:"" name:"id" help:"An artefact, or the claim on it: any part of its id's beginning or end that is unique."`
	Approve  bool    `help:"It is good as it is."`
	Feedback *string `placeholder:"TEXT" help:"What is wrong with it; - reads it from standard input."`
}

// Help is shown by `sett review --help`.
func (reviewCmd) Help() string {
	return `Reviews an artefact while its claim is in review, beside the agents that do so: once for
each person. The claim is decided about when all agents have bid, and have reviewed; any
feedback has the artefact reworked by the agent that made it. The Review's id goes to
stdout.

` + whoHelp + `

Examples:
  sett review 7XK2ABCD --approve
  sett review 7XK2ABCD --feedback "Say how long it takes."
  sett review 7XK2ABCD --feedback - < remarks.md`
}

// Run reviews the artefact.
func (c *reviewCmd) Run(a *app) error {
	if c.Approve == (c.Feedback != nil) {
		return role.Fail(role.Usage, errors.New("a review either approves or says what is wrong"),
			`sett review %s --approve, or --feedback "…"`, clean(c.ID))
	}
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	artefact, claim, err := a.inReview(b, in, c.ID)
	if err != nil {
		return err
	}
	text := "{}"
	if c.Feedback != nil {
		if text, err = a.words("feedback", []string{*c.Feedback}); err != nil {
			return err
		}
		if err := a.checkFeedback("feedback", text, `--feedback "…"`, "--approve"); err != nil {
			return err
		}
	}
	review := a.humanArtefact(blackboard.Review, artefact, text)
	review.ClaimID = claim.Claim.ID
	if err := b.Review(a.ctx, claim.Claim.ID, review, a.who()); err != nil {
		return refusal("review "+short(artefact.ID), err, a.commandLine(in, "show "+short(artefact.ID)))
	}
	a.printf("%s\n", review.ID)
	next := "the claim is decided about"
	if c.Feedback != nil {
		next = in.afterFeedback(artefact)
	}
	a.sayf("sett: %s %s is reviewed; %s\n", title(artefact), short(artefact.ID), whenOthersAreDone(claim)+next)
	return nil
}

// whenOthersAreDone names the agents that a claim's review waits for.
func whenOthersAreDone(c blackboard.Snapshot) string {
	missing := c.Missing()
	for _, g := range c.Grants {
		if !g.State.Ended() {
			missing = append(missing, g.Agent)
		}
	}
	if len(missing) == 0 {
		return ""
	}
	return "after " + clean(strings.Join(missing, ", ")) + ", "
}

// inReview returns an artefact and the claim on it that is in review.
func (a *app) inReview(b *redis.Board, in *instance, part string) (blackboard.Artefact, blackboard.Snapshot, error) {
	var none blackboard.Snapshot
	id, kind, err := a.resolve(a.ctx, b, part, redis.KindArtefact, redis.KindClaim)
	if err != nil {
		return blackboard.Artefact{}, none, err
	}
	claim, about := id, id
	if kind == redis.KindClaim {
		c, err := b.Snapshot(a.ctx, id)
		if err != nil {
			return blackboard.Artefact{}, none, err
		}
		about = c.Claim.ArtefactID
	}
	artefact, err := b.Artefact(a.ctx, about)
	if err != nil {
		return artefact, none, err
	}
	if kind == redis.KindArtefact {
		if claim, err = a.claimOn(b, in, artefact); err != nil {
			return artefact, none, err
		}
	}
	c, err := b.Snapshot(a.ctx, claim)
	if err == nil && c.Claim.Status != blackboard.PendingReview {
		err = role.Fail(role.Failed, fmt.Errorf("review %s %s: it is not in review any more, its claim %s is %s",
			title(artefact), short(about), short(claim), claimStatus(c.Claim)), "%s", a.commandLine(in, "show "+short(claim)))
	}
	return artefact, c, err
}

// claimOn returns the last claim on an artefact: no other is open.
func (a *app) claimOn(b *redis.Board, in *instance, artefact blackboard.Artefact) (string, error) {
	what := fmt.Sprintf("review %s %s", title(artefact), short(artefact.ID))
	gate, err := readGate(a.ctx, b, artefact)
	if err != nil {
		return "", err
	}
	if gate.isHeld() {
		return "", role.Fail(role.Failed, fmt.Errorf("%s: it waits for approval first", what),
			`%s, or %s "why"`, a.commandLine(in, "approve "+short(artefact.ID)), a.commandLine(in, "reject "+short(artefact.ID)))
	}
	if !artefact.StructuralType.Claimable() {
		return "", role.Fail(role.NotFound, fmt.Errorf("%s: a %s gets no claim, so nobody reviews it", what, artefact.StructuralType),
			"%s", a.commandLine(in, "hoard --workflow "+short(artefact.WorkflowID)))
	}
	ids, err := b.WorkflowClaims(a.ctx, artefact.WorkflowID)
	if err != nil {
		return "", err
	}
	claims, each, err := b.TryClaims(a.ctx, ids)
	if err != nil {
		return "", err
	}
	last := ""
	for i, c := range claims {
		if each[i] == nil && c.ArtefactID == artefact.ID {
			last = c.ID
		}
	}
	if last == "" {
		return "", role.Fail(role.Failed, fmt.Errorf("%s: it has no claim yet, the orchestrator opens it", what), "%s", a.commandLine(in, "show "+short(artefact.ID)))
	}
	return last, nil
}
