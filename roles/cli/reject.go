package cli

import (
	"errors"
	"fmt"
	"strings"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type rejectCmd struct {
	ID  string   `arg:"" optional:"" name:"id" help:"What waits for approval: any part of its id's beginning or end that is unique, of four characters or more. It may be left out while one artefact waits."`
	Why []string `arg:"" optional:"" help:"What is wrong with it, as plain words; - reads it from standard input."`
}

// Help is shown by `sett reject --help`.
func (rejectCmd) Help() string {
	return `Turns down an artefact that waits for approval. That is feedback, as a reviewer's: the
agent that made it makes its next version, with the reason before its eyes, as often as
max_review_iterations allows. The id of the Review that says so goes to stdout, unless that is
a terminal.

While one artefact waits, its id may be left out. When several do, they are listed with the
commands for each, and the exit code is 2. A first word that is an id here, or looks like one,
is never part of the reason.

` + whoHelp + `

Examples:
  sett reject "The changelog is missing."
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
	held, typed, err := c.meant(a, b, in)
	if err != nil {
		return err
	}
	text, err := typedWords(a, "reason", typed)
	if err != nil {
		return err
	}
	if err := checkFeedback(a, "reason", text, a.at.CommandLine(in, "reject "+words.Short(held.ID)+` "why"`), a.at.CommandLine(in, "approve "+words.Short(held.ID))); err != nil {
		return err
	}
	return rejectGate(a, b, in, held, text)
}

// meant returns the artefact to reject, and the words of the reason: the first word names
// it, or the only one that waits is meant.
func (c *rejectCmd) meant(a *app, b *instance.Board, in *instance.Instance) (held blackboard.Artefact, typed []string, err error) {
	id, typed, err := idAndText(a, b, c.ID, c.Why)
	switch {
	case err != nil:
		return held, nil, err
	case len(typed) == 0:
		return held, nil, role.Fail(role.Usage, errors.New("missing argument WHY"), `%s "why"`, a.at.CommandLine(in, strings.TrimSpace("reject "+role.Clean(id))))
	case id == "":
		held, err = onlyMatter(a, b, in, view.MatterGate)
	default:
		held, err = atGate(a, b, in, id)
	}
	return held, typed, err
}

// rejectGate records the rejection, and says what comes next.
func rejectGate(a *app, b *instance.Board, in *instance.Instance, held blackboard.Artefact, text string) error {
	claim, err := b.People.Reject(a.ctx, held.ID, humanArtefact(a, blackboard.Review, held, text), a.Who())
	if err != nil {
		return refusal("reject "+words.Short(held.ID), err, a.at.CommandLine(in, "show "+words.Short(held.ID)))
	}
	a.printID(blackboard.GateReviewID(held.ID))
	under := ", claim " + words.Short(claim)
	if role.IsTerminal(a.Stderr) {
		under = ""
	}
	a.Sayf("sett: %s is rejected%s; %s\n", nameOfHeld(a, held), under, afterFeedback(in, held))
	return nil
}

// afterFeedback predicts from sett.yml the next step after feedback on an artefact.
func afterFeedback(in *instance.Instance, a blackboard.Artefact) string {
	if a.Type == blackboard.TypeLanding { // the repository made it, of a result that an agent made
		return "its result goes back to the agent that made it"
	}
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
