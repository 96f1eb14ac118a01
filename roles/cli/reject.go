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
max_review_iterations allows. Where that agent is no longer in sett.yml, it is refused. The id of the Review that says so goes to stdout, unless that is
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
		held, err = onlyMatter(a, b, in, view.MatterGate, a.at.CommandLine(in, `reject ID "why"`)+" rejects one")
	default:
		held, err = atGate(a, b, in, id)
	}
	return held, typed, err
}

// rejectGate records the rejection, and says what comes next.
func rejectGate(a *app, b *instance.Board, in *instance.Instance, held blackboard.Artefact, text string) error {
	back, err := takesFeedback(a, b, in, "reject", held)
	if err != nil {
		return err
	}
	claim, err := b.People.Reject(a.ctx, held.ID, humanArtefact(a, blackboard.Review, held, text), a.Who())
	if err != nil {
		return refusal("reject "+words.Short(held.ID), err, a.at.CommandLine(in, "show "+words.Short(held.ID)))
	}
	a.printID(blackboard.GateReviewID(held.ID))
	under := ", claim " + words.Short(claim)
	if role.IsTerminal(a.Stderr) {
		under = ""
	}
	a.Sayf("sett: %s is rejected%s; %s\n", nameOfHeld(a, held), under, afterFeedback(in, held, back))
	return nil
}

// takesFeedback returns the artefact that feedback on this one sends back: itself, or the result of which the
// repository made a Landing. It refuses where the agent that made that is no longer in the settings of the instance.
func takesFeedback(a *app, b *instance.Board, in *instance.Instance, command string, on blackboard.Artefact) (back blackboard.Artefact, err error) {
	back = on
	if on.Type == blackboard.TypeLanding && len(on.SourceArtefacts) > 0 {
		if back, err = b.Records.Artefact(a.ctx, on.SourceArtefacts[0]); err != nil {
			return back, err
		}
	}
	c, err := in.Config()
	if err != nil || back.ProducedByAgent == "" {
		return back, nil
	}
	if _, there := c.Agent(back.ProducedByAgent); there {
		return back, nil
	}
	agent := role.Clean(back.ProducedByAgent)
	return back, role.Fail(role.Failed, fmt.Errorf("%s %s: agent %s, which made %s, is no longer in sett.yml: the goal would fail", command, words.Short(on.ID), agent, sentBack(on, back)),
		`put %s back into sett.yml, then sett up; or give the goal up: %s "why"`, agent, a.at.CommandLine(in, "cancel "+words.Short(on.WorkflowID)))
}

// sentBack names the artefact that feedback on another one sends back.
func sentBack(on, back blackboard.Artefact) string {
	if on.ID == back.ID {
		return "it"
	}
	return "its result"
}

// afterFeedback predicts from the settings the next step after feedback on an artefact that sends this one back.
func afterFeedback(in *instance.Instance, on, back blackboard.Artefact) string {
	if back.ProducedByAgent == "" {
		return "no agent made it, so the goal fails"
	}
	reworks := view.Maker(back) + " reworks " + sentBack(on, back)
	c, err := in.Config()
	if err != nil {
		return reworks
	}
	if limit := c.Orchestrator.MaxReviewIterations; limit > 0 && back.Version > limit {
		if c.Orchestrator.OnReviewLimit == config.ReviewLimitAsk {
			return "max_review_iterations is reached: a question comes before " + reworks
		}
		return "max_review_iterations is reached, so the goal fails"
	}
	return reworks
}
