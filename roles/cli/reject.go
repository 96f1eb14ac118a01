package cli

import (
	"fmt"

	"sett/blackboard"
	"sett/contract/config"
)

type rejectCmd struct {
	ID  string   `arg:"" name:"id" help:"What waits for approval: any part of its id's beginning or end that is unique."`
	Why []string `arg:"" help:"What is wrong with it, as plain words; - reads it from standard input."`
}

// Help is shown by `sett reject --help`.
func (rejectCmd) Help() string {
	return `Turns down an artefact that waits for approval. That is feedback, as a reviewer's: the
agent that made it makes its next version, with the reason before its eyes, as often as
max_review_iterations allows. The id of the Review that says so goes to stdout.

` + whoHelp + `

Examples:
  sett reject 7XK2ABCD "The changelog is missing."
  sett reject 7XK2ABCD - < remarks.md`
}

// Run rejects the artefact.
func (c *rejectCmd) Run(a *app) error {
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	held, err := a.atGate(b, in, c.ID)
	if err != nil {
		return err
	}
	text, err := a.words("reason", c.Why)
	if err != nil {
		return err
	}
	if err := a.checkFeedback("reason", text, a.commandLine(in, "reject "+short(held.ID)+` "why"`), a.commandLine(in, "approve "+short(held.ID))); err != nil {
		return err
	}
	claim, err := b.Reject(a.ctx, held.ID, a.humanArtefact(blackboard.Review, held, text), a.who())
	if err != nil {
		return refusal("reject "+short(held.ID), err, a.commandLine(in, "show "+short(held.ID)))
	}
	a.printf("%s\n", blackboard.GateReviewID(held.ID))
	a.sayf("sett: %s %s is rejected, claim %s; %s\n", title(held), short(held.ID), short(claim), in.afterFeedback(held))
	return nil
}

// afterFeedback says what comes of feedback on an artefact, as far as sett.yml says.
func (in *instance) afterFeedback(a blackboard.Artefact) string {
	if a.ProducedByAgent == "" {
		return "no agent made it, so the goal fails"
	}
	c, err := in.config()
	if err != nil {
		return maker(a) + " reworks it"
	}
	if limit := c.Orchestrator.MaxReviewIterations; limit > 0 && a.Version > limit {
		if c.Orchestrator.OnReviewLimit == config.ReviewLimitAsk {
			return fmt.Sprintf("max_review_iterations is reached: a question comes before %s reworks it", maker(a))
		}
		return "max_review_iterations is reached, so the goal fails"
	}
	return maker(a) + " reworks it"
}
