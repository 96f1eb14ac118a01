package cli

import (
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
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
stdout, unless that is a terminal.

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
			`sett review %s --approve, or --feedback "…"`, role.Clean(c.ID))
	}
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	artefact, claim, err := inReview(a, b, in, c.ID)
	if err == nil && c.Feedback == nil {
		err = ledger.Trust(a.ctx, b, artefact)
	}
	if err != nil {
		return err
	}
	text, back := "{}", artefact
	if c.Feedback != nil {
		if back, err = takesFeedback(a, b, in, "review", artefact); err != nil {
			return err
		}
		if text, err = typedWords(a, "feedback", []string{*c.Feedback}); err != nil {
			return err
		}
		if err := checkFeedback(a, "feedback", text, `--feedback "…"`, "--approve"); err != nil {
			return err
		}
	}
	review := humanArtefact(a, blackboard.Review, artefact, text)
	review.ClaimID = claim.Claim.ID
	if err := b.People.Review(a.ctx, claim.Claim.ID, review, a.Who()); err != nil {
		return refusal("review "+words.Short(artefact.ID), err, a.at.CommandLine(in, "show "+words.Short(artefact.ID)))
	}
	a.printID(review.ID)
	next := "the claim is decided about"
	if c.Feedback != nil {
		next = afterFeedback(in, artefact, back)
	}
	a.Sayf("sett: %s is reviewed; %s\n", view.Named(artefact), whenOthersAreDone(claim)+next)
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
	return "after " + role.Clean(strings.Join(missing, ", ")) + ", "
}

// inReview returns an artefact and the claim on it that is in review.
func inReview(a *app, b *instance.Board, in *instance.Instance, part string) (blackboard.Artefact, blackboard.Snapshot, error) {
	var none blackboard.Snapshot
	id, kind, err := a.resolve(a.ctx, b, part, blackboard.KindArtefact, blackboard.KindClaim)
	if err != nil {
		return blackboard.Artefact{}, none, err
	}
	claim, about := id, id
	if kind == blackboard.KindClaim {
		c, err := b.Records.Snapshot(a.ctx, id)
		if err != nil {
			return blackboard.Artefact{}, none, err
		}
		about = c.Claim.ArtefactID
	}
	artefact, err := b.Records.Artefact(a.ctx, about)
	if err != nil {
		return artefact, none, err
	}
	if kind == blackboard.KindArtefact {
		if claim, err = claimOn(a, b, in, artefact); err != nil {
			return artefact, none, err
		}
	}
	c, err := b.Records.Snapshot(a.ctx, claim)
	if err == nil && c.Claim.Status != blackboard.PendingReview {
		err = role.Fail(role.Failed, fmt.Errorf("review %s %s: it is not in review any more, its claim %s is %s",
			view.Title(artefact), words.Short(about), words.Short(claim), view.ClaimStatus(c.Claim)), "%s", a.at.CommandLine(in, "show "+words.Short(claim)))
	}
	return artefact, c, err
}

// claimOn returns the last claim on an artefact: no other is open.
func claimOn(a *app, b *instance.Board, in *instance.Instance, artefact blackboard.Artefact) (string, error) {
	what := fmt.Sprintf("review %s", view.Named(artefact))
	gate, err := view.ReadGate(a.ctx, status.BoardOf(b), artefact)
	if err != nil {
		return "", err
	}
	if gate.IsHeld() {
		return "", role.Fail(role.Failed, fmt.Errorf("%s: it waits for approval first", what),
			`%s, or %s "why"`, a.at.CommandLine(in, "approve "+words.Short(artefact.ID)), a.at.CommandLine(in, "reject "+words.Short(artefact.ID)))
	}
	if !artefact.StructuralType.Claimable() {
		return "", role.Fail(role.NotFound, fmt.Errorf("%s: a %s gets no claim, so nobody reviews it", what, artefact.StructuralType),
			"%s", a.at.CommandLine(in, "hoard --workflow "+words.Short(artefact.WorkflowID)))
	}
	ids, err := b.Index.WorkflowClaims(a.ctx, artefact.WorkflowID)
	if err != nil {
		return "", err
	}
	claims, each, err := b.Records.TryClaims(a.ctx, ids)
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
		return "", role.Fail(role.Failed, fmt.Errorf("%s: it has no claim yet, the orchestrator opens it", what), "%s", a.at.CommandLine(in, "show "+words.Short(artefact.ID)))
	}
	return last, nil
}
