package cli

import (
	"fmt"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role/words"
	"sett/roles/view"
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
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	held, err := atGate(a, b, in, c.ID)
	if err != nil {
		return err
	}
	text, err := typedWords(a, "reason", c.Why)
	if err != nil {
		return err
	}
	if err := checkFeedback(a, "reason", text, a.at.CommandLine(in, "reject "+words.Short(held.ID)+` "why"`), a.at.CommandLine(in, "approve "+words.Short(held.ID))); err != nil {
		return err
	}
	claim, err := b.People.Reject(a.ctx, held.ID, humanArtefact(a, blackboard.Review, held, text), a.Who())
	if err != nil {
		return refusal("reject "+words.Short(held.ID), err, a.at.CommandLine(in, "show "+words.Short(held.ID)))
	}
	a.Printf("%s\n", blackboard.GateReviewID(held.ID))
	a.Sayf("sett: %s is rejected, claim %s; %s\n", view.Named(held), words.Short(claim), afterFeedback(in, held))
	return nil
}

// afterFeedback predicts from sett.yml the next step after feedback on an artefact.
func afterFeedback(in *instance.Instance, a blackboard.Artefact) string {
	if a.ProducedByAgent == "" {
		return "no agent made it, so the goal fails"
	}
	c, err := in.Config()
	if err != nil {
		return view.Maker(a) + " reworks it"
	}
	if limit := c.Orchestrator.MaxReviewIterations; limit > 0 && a.Version > limit {
		if c.Orchestrator.OnReviewLimit == config.ReviewLimitAsk {
			return fmt.Sprintf("max_review_iterations is reached: a question comes before %s reworks it", view.Maker(a))
		}
		return "max_review_iterations is reached, so the goal fails"
	}
	return view.Maker(a) + " reworks it"
}
