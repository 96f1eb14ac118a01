package cli

import (
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

type answerCmd struct {
	ID   string   `arg:"" name:"question" help:"The question: any part of its id's beginning or end that is unique."`
	Text []string `arg:"" optional:"" help:"The answer, as plain words; - reads it from standard input. Without it an editor is opened, on a terminal."`
}

// Help is shown by `sett answer --help`.
func (answerCmd) Help() string {
	return `Answers a question, so that the agent that asked it goes on. The answer is kept where that
agent does not run just now. The Answer's id goes to stdout.

Without a text it opens $VISUAL, else $EDITOR, else vi with the question in it as lines that
begin with #, which are left out. An empty text answers nothing: exit code 2, and 1 where
that is what the editor left.

` + whoHelp + `

Examples:
  sett answer 7XK2ABCD "The red one."
  sett answer 7XK2ABCD - < answer.md
  sett answer 7XK2ABCD`
}

// Run answers the question.
func (c *answerCmd) Run(a *app) error {
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	q, err := a.question(b, in, c.ID)
	if err != nil {
		return err
	}
	text, d, err := c.text(a, in, q)
	if err != nil {
		return err
	}
	answer := a.humanArtefact(blackboard.Answer, q, text)
	answer.ClaimID = q.ClaimID
	agent, err := b.PostAnswer(a.ctx, q.ID, answer, a.who())
	if errors.Is(err, blackboard.ErrRefused) {
		if why := a.whyNoAnswer(b, in, q); why != nil {
			err = why
		}
		err = refusal("answer question "+short(q.ID), err, a.commandLine(in, "questions"))
	}
	if err != nil {
		return d.keep(err)
	}
	d.discard()
	a.printf("%s\n", answer.ID)
	a.sayf("sett: question %s is answered; %s\n", short(q.ID), a.goesOn(b, in, agent))
	return nil
}

// text returns the answer: what was typed with the command, else what is typed in an
// editor, whose file is the draft.
func (c *answerCmd) text(a *app, in *instance, q blackboard.Artefact) (string, *draft, error) {
	if len(c.Text) == 0 {
		d, err := a.typeAnswer(in, q)
		if err != nil {
			return "", nil, err
		}
		return d.text, d, nil
	}
	text, err := a.words("answer", c.Text)
	if err == nil {
		err = a.checkText("answer", text, a.commandLine(in, "answer "+short(q.ID)+` "…"`))
	}
	return text, nil, err
}

// question returns the question that an id names, as long as it waits for an answer.
func (a *app) question(b *redis.Board, in *instance, part string) (blackboard.Artefact, error) {
	id, kind, err := a.resolve(a.ctx, b, part, redis.KindArtefact, redis.KindClaim)
	if err != nil {
		return blackboard.Artefact{}, err
	}
	if kind == redis.KindClaim {
		return blackboard.Artefact{}, role.Fail(role.NotFound, fmt.Errorf("%s is a claim, not a question", short(id)), "%s", a.commandLine(in, "questions"))
	}
	q, err := b.Artefact(a.ctx, id)
	if err != nil {
		return q, err
	}
	if q.StructuralType != blackboard.Question {
		hint := a.commandLine(in, "questions")
		if g, err := readGate(a.ctx, b, q); err == nil && g.isHeld() {
			hint = fmt.Sprintf(`it waits for approval: %s, or %s "why"`, a.commandLine(in, "approve "+short(id)), a.commandLine(in, "reject "+short(id)))
		}
		return q, role.Fail(role.NotFound, fmt.Errorf("%s is no question, it is %s", short(id), title(q)), "%s", hint)
	}
	open, err := b.OpenQuestions(a.ctx)
	if err == nil && !slices.Contains(open, id) {
		err = a.whyNoAnswer(b, in, q)
	}
	return q, err
}

// whyNoAnswer says why a question takes no answer any more: who answered it, or
// how its claim ended. nil when neither is so.
func (a *app) whyNoAnswer(b *redis.Board, in *instance, q blackboard.Artefact) error {
	what := "answer question " + short(q.ID)
	children, err := b.Children(a.ctx, q.ID)
	if err != nil {
		return err
	}
	all, each, err := b.Outlines(a.ctx, children)
	if err != nil {
		return err
	}
	for i, o := range all {
		if each[i] == nil && o.StructuralType == blackboard.Answer {
			return role.Fail(role.Failed, fmt.Errorf("%s: %s answered it %s ago, with %s", what, blackboard.PersonOf(o.Artefact), age(a.Now().Sub(o.CreatedAt)), short(o.ID)),
				"%s", a.commandLine(in, "unearth "+short(o.ID)))
		}
	}
	claim, err := b.Snapshot(a.ctx, q.ClaimID)
	if err != nil || !claim.Claim.Status.Closed() {
		return err
	}
	return role.Fail(role.Failed, fmt.Errorf("%s: its claim %s is %s", what, short(q.ClaimID), claimStatus(claim.Claim)),
		"%s", a.commandLine(in, "show "+short(q.ClaimID)))
}

// goesOn says who has work now, and whether somebody is there to do it.
func (a *app) goesOn(b *redis.Board, in *instance, agent string) string {
	text := fmt.Sprintf("%s goes on", clean(agent))
	s, err := a.readScene(a.ctx, b, in, openWork{})
	if err != nil {
		return text
	}
	if t := s.agentTrouble(agent); t.what != "" {
		text += fmt.Sprintf(" when it is back (%s)", s.lasting(t))
	}
	return text
}
