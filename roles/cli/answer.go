package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/contract/model"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

type answerCmd struct {
	ID   string   `arg:"" optional:"" name:"question" help:"The question: any part of its id's beginning or end that is unique, of four characters or more. It may be left out while one question waits."`
	Text []string `arg:"" optional:"" help:"The answer, as plain words; - reads it from standard input. Without it an editor is opened, on a terminal."`
}

// Help is shown by `sett answer --help`.
func (answerCmd) Help() string {
	return `Answers a question, so that the agent that asked it goes on. The answer is kept where that
agent does not run just now. The Answer's id goes to stdout, unless that is a terminal.

While one question waits, its id may be left out. When several do, they are listed with the
command for each, and the exit code is 2. A first word that is an id here, or looks like one,
is never part of the answer.

Without a text it opens $VISUAL, else $EDITOR, else vi with the question in it as lines that
begin with #, which are left out. An empty text answers nothing: exit code 2, and 1 where
that is what the editor left.

` + whoHelp + `

Examples:
  sett answer "The red one."
  sett answer 7XK2ABCD "The red one."
  sett answer 7XK2ABCD - < answer.md
  sett answer 7XK2ABCD`
}

// Run answers the question.
func (c *answerCmd) Run(a *app) error {
	b, in, done, err := a.at.Board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	q, typed, err := c.question(a, b, in)
	if err == nil {
		err = ledger.Trust(a.ctx, b, q)
	}
	if err != nil {
		return err
	}
	text, d, err := answerText(a, in, q, typed)
	if err != nil {
		return err
	}
	if err := postAnswer(a, b, in, q, text); err != nil {
		return d.keep(err)
	}
	d.discard()
	return nil
}

// postAnswer records an answer, and says which agent goes on.
func postAnswer(a *app, b *instance.Board, in *instance.Instance, q blackboard.Artefact, text string) error {
	answer := humanArtefact(a, blackboard.Answer, q, text)
	answer.ClaimID = q.ClaimID
	agent, err := b.People.PostAnswer(a.ctx, q.ID, answer, a.Who())
	if errors.Is(err, blackboard.ErrRefused) {
		if why := whyNoAnswer(a, b, in, q); why != nil {
			err = why
		}
		err = refusal("answer question "+words.Short(q.ID), err, a.at.CommandLine(in, "questions"))
	}
	if err != nil {
		return err
	}
	a.printID(answer.ID)
	done := "question " + words.Short(q.ID) + " is answered"
	if role.IsTerminal(a.Stderr) {
		done = "answered"
	}
	a.Sayf("sett: %s; %s\n", done, afterAnswer(a, b, in, q, text, agent))
	return answerAlike(a, b, in, q, answer)
}

// answerAlike gives an answer that raises a goal's budget to the other questions for more of it, so that nobody has to be told
// twice. The budget is raised once.
func answerAlike(a *app, b *instance.Board, in *instance.Instance, q, answer blackboard.Artefact) error {
	more, _, err := model.ParseMore(answer.Payload)
	if q.Type != blackboard.TypeBudgetExceeded || blackboard.WantedBy(q).Of != blackboard.BudgetOfGoal || err != nil || more.IsZero() {
		return nil
	}
	others, err := alike(a.ctx, b, q, more)
	if err != nil {
		return err
	}
	for _, other := range others {
		same := humanArtefact(a, blackboard.Answer, other, model.SayAnsweredBy(answer.ID))
		same.ClaimID = other.ClaimID
		agent, err := b.People.PostAnswer(a.ctx, other.ID, same, a.Who())
		if errors.Is(err, blackboard.ErrRefused) {
			continue // it was answered meanwhile, or its work has ended
		}
		if err != nil {
			return err
		}
		a.Sayf("sett: question %s about the same budget is answered by it, too; %s\n", words.Short(other.ID), goesOn(a, b, in, agent))
	}
	return nil
}

// alike returns the other open questions of a goal for more of its budget that an answer's limits help.
func alike(ctx context.Context, b *instance.Board, q blackboard.Artefact, more model.Budget) (found []blackboard.Artefact, err error) {
	open, err := b.Index.OpenQuestions(ctx)
	if err != nil {
		return nil, err
	}
	all, each, err := b.Records.Outlines(ctx, open)
	for i, o := range all {
		if each[i] != nil || o.ID == q.ID || o.WorkflowID != q.WorkflowID || o.Type != blackboard.TypeBudgetExceeded {
			continue
		}
		if w := blackboard.WantedBy(o.Artefact); w.Of == blackboard.BudgetOfGoal && (w.Unit == "" || more.Has(w.Unit)) {
			found = append(found, o.Artefact)
		}
	}
	return found, err
}

// afterAnswer says what becomes of the agent's work by an answer: one about a budget may end it, or be asked for again.
func afterAnswer(a *app, b *instance.Board, in *instance.Instance, q blackboard.Artefact, text, agent string) string {
	if q.Type != blackboard.TypeBudgetExceeded {
		return goesOn(a, b, in, agent)
	}
	_, more, err := model.ParseMore(text)
	switch {
	case !more:
		return fmt.Sprintf("it gives no more, so %s ends its work there with a Failure", role.Clean(agent))
	case err != nil:
		return fmt.Sprintf("%s asks again: %s", role.Clean(agent), role.Clean(err.Error()))
	}
	return goesOn(a, b, in, agent)
}

// question returns the question that is meant, and the words of its answer: the first word
// names it, or the only one that waits is meant.
func (c *answerCmd) question(a *app, b *instance.Board, in *instance.Instance) (q blackboard.Artefact, typed []string, err error) {
	id, typed, err := idAndText(a, b, c.ID, c.Text)
	if err != nil {
		return q, nil, err
	}
	if id == "" {
		q, err = onlyMatter(a, b, in, view.MatterQuestion, "")
		return q, typed, err
	}
	q, err = askedQuestion(a, b, in, id)
	return q, typed, err
}

// answerText returns the answer that was typed. Without one it opens an editor, and the
// draft is the editor's file.
func answerText(a *app, in *instance.Instance, q blackboard.Artefact, typed []string) (string, *draft, error) {
	if len(typed) == 0 {
		d, err := typeAnswer(a, in, q)
		if err != nil {
			return "", nil, err
		}
		return d.text, d, nil
	}
	text, err := typedWords(a, "answer", typed)
	if err == nil {
		err = checkText(a, "answer", text, a.at.CommandLine(in, "answer "+words.Short(q.ID)+` "…"`))
	}
	return text, nil, err
}

// askedQuestion returns the question that an id names, as long as it waits for an answer.
func askedQuestion(a *app, b *instance.Board, in *instance.Instance, part string) (blackboard.Artefact, error) {
	id, kind, err := a.resolve(a.ctx, b, part, blackboard.KindArtefact, blackboard.KindClaim)
	if err != nil {
		return blackboard.Artefact{}, err
	}
	if kind == blackboard.KindClaim {
		return blackboard.Artefact{}, role.Fail(role.NotFound, fmt.Errorf("%s is a claim, not a question", words.Short(id)), "%s", a.at.CommandLine(in, "questions"))
	}
	q, err := b.Records.Artefact(a.ctx, id)
	if err != nil {
		return q, err
	}
	if q.StructuralType != blackboard.Question {
		hint := a.at.CommandLine(in, "questions")
		if g, err := view.ReadGate(a.ctx, status.BoardOf(b), q); err == nil && g.IsHeld() {
			hint = fmt.Sprintf(`it waits for approval: %s, or %s "why"`, a.at.CommandLine(in, "approve "+words.Short(id)), a.at.CommandLine(in, "reject "+words.Short(id)))
		}
		return q, role.Fail(role.NotFound, fmt.Errorf("%s is no question, it is %s", words.Short(id), view.Title(q)), "%s", hint)
	}
	open, err := b.Index.OpenQuestions(a.ctx)
	if err == nil && !slices.Contains(open, id) {
		err = whyNoAnswer(a, b, in, q)
	}
	return q, err
}

// whyNoAnswer returns why a question is closed: it has an answer, or its claim has
// ended. nil when neither is so.
func whyNoAnswer(a *app, b *instance.Board, in *instance.Instance, q blackboard.Artefact) error {
	how, hint, err := howClosed(a.ctx, a, b, in, q)
	if err != nil || how == "" {
		return err
	}
	return role.Fail(role.Failed, fmt.Errorf("answer question %s: %s", words.Short(q.ID), how), "%s", hint)
}

// howClosed says how a question was closed, and the command that shows it; empty: it is open.
func howClosed(ctx context.Context, a *app, b *instance.Board, in *instance.Instance, q blackboard.Artefact) (how, hint string, err error) {
	children, err := b.Index.Children(ctx, q.ID)
	if err != nil {
		return "", "", err
	}
	all, each, err := b.Records.Outlines(ctx, children)
	if err != nil {
		return "", "", err
	}
	for i, o := range all {
		if each[i] == nil && o.StructuralType == blackboard.Answer {
			return fmt.Sprintf("%s answered it %s ago, with %s", role.Clean(blackboard.PersonOf(o.Artefact)), words.Age(a.Now().Sub(o.CreatedAt)), words.Short(o.ID)),
				a.at.CommandLine(in, "unearth "+words.Short(o.ID)), nil
		}
	}
	claim, err := b.Records.Snapshot(ctx, q.ClaimID)
	if err != nil || !claim.Claim.Status.Closed() {
		return "", "", err
	}
	return fmt.Sprintf("its claim %s is %s", words.Short(q.ClaimID), view.ClaimStatus(claim.Claim)), a.at.CommandLine(in, "show "+words.Short(q.ClaimID)), nil
}

// goesOn names the agent that got the answer, and its trouble when it does not run.
func goesOn(a *app, b *instance.Board, in *instance.Instance, agent string) string {
	text := fmt.Sprintf("%s goes on", role.Clean(agent))
	s, err := status.Reader(a.at, b, in).Scene(a.ctx, view.Open{})
	if err != nil {
		return text
	}
	switch t := s.AgentTrouble(agent); {
	case t == "":
	case s.Heard(agent):
		text += fmt.Sprintf(" (%s)", t)
	default:
		text += fmt.Sprintf(" when it is back (%s)", t)
	}
	return text
}
