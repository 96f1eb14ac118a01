package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/cli/chart"
	"sett/roles/cli/grammar"
	"sett/roles/cli/instance"
	"sett/roles/cli/landing"
	"sett/roles/cli/status"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// The values of --for of `sett wait`.
const (
	forTerminal = "terminal"
	forEnd      = "end"
	forQuestion = "question"
	forIdle     = "idle"
)

type waitCmd struct {
	Goal    string        `arg:"" optional:"" help:"A goal, or anything that belongs to one: any part of its id's beginning or end that is unique (default: @last, the newest goal)."`
	For     string        `enum:"terminal,end,question,idle" default:"terminal" placeholder:"WHAT" help:"terminal: the goal's end, or nothing but people to wait for (default); end: its end alone, through what people answer and approve; question: something for a person to answer or approve; idle: the goal's end, or nothing but people to wait for."`
	Timeout time.Duration `placeholder:"DURATION" help:"No longer than this (default, and 0: for ever)."`
	term.Form
}

// Help is shown by `sett wait --help`.
func (waitCmd) Help() string {
	return `Waits for a goal, and prints how it is then. What is so already is not waited for.

--for terminal ends as forage --wait does: 0 achieved, 1 failed, 6 it ended without a
Terminal, 8 a budget ended it, 5 it waits for a person; the message says the commands.
--for end does so, too, but goes on waiting for answers and approvals: never 5.
--for question ends with 0 when something of the goal waits for an answer or an approval,
or waits for a budget or paused models alone, and prints that; with 1 when the goal ends before, 6 when that was without a Terminal, or 8
when a budget ended it.
--for idle ends with 0 when the goal has ended, however, or waits for nothing but people.
A goal whose turn to land comes after one that waits for people alone waits for them, too.
On a terminal, --for terminal and --for end ask questions and gates of the goal right there,
and go on waiting; an empty line leaves one open.
After --timeout the exit code is 4, and what is waited for is named; on a terminal also
before, on stderr.

For programs the goal has the fields of sett goals -o json, open_questions (see sett questions),
and waits: what it still waits for, each with what (claim, bid, decision, start, slot,
repository, model, result, blackboard, answer or approval), agent, since, age_seconds, until,
subject_id, workflow_id and text; waits_more counts the open work that was not looked at.
An achieved goal with a commit has an outcome: the commit, and how much it changes.

Examples:
  sett wait --timeout 10m
  sett wait --for end
  sett wait 7XK2ABCD --for question -o json
  sett wait @last --for idle && sett questions`
}

// Run waits.
func (c *waitCmd) Run(a *app) error {
	ctx, cancel := role.WithLimit(a.ctx, c.Timeout, nil)
	defer cancel()
	b, in, done, err := a.at.BoardWithin(a.ctx, c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	id, err := a.resolveWorkflow(a.ctx, b, cmp.Or(c.Goal, grammar.LastGoal))
	if err != nil {
		return err
	}
	w := &goalWaiter{app: a, b: b, in: in, goal: id, what: c.For, form: c.Form}
	if c.ForPeople() && (c.For == forTerminal || c.For == forEnd) {
		w.asks = askerFor(a, b, in, id)
	}
	err = w.follow(ctx)
	switch {
	case errors.Is(err, errOver):
	case a.ctx.Err() != nil:
		return term.Interrupted(fmt.Sprintf("interrupted; goal %s %s%s", words.Short(id), fares(in), w.asks.later()))
	case ctx.Err() != nil:
		return a.notEnough(b, in, id, c.Timeout)
	default:
		return err
	}
	if !c.ForPeople() && w.is.Status == blackboard.WorkflowAchieved {
		w.is.Outcome = a.outcome(a.ctx, b, in, w.is.Workflow)
	}
	if err := a.Emit(c.Form, term.Shown{Whole: w.is, Table: func() error { return w.is.text(a) }}); err != nil {
		return err
	}
	return w.end
}

// waitView is a goal as `wait -o json` prints it.
type waitView struct {
	view.Goal
	Matters []view.Matter `json:"open_questions"` // and gates, as sett questions lists them
	Waits   []view.Wait   `json:"waits"`
	More    int           `json:"waits_more,omitempty"` // open work that was not looked at

	Outcome *landing.Outcome `json:"outcome,omitempty"` // the change that came of an achieved goal; absent: no commit
}

func (v waitView) text(a *app) error {
	if err := printGoals(&a.Terminal, []view.Goal{v.Goal}); err != nil {
		return err
	}
	for _, m := range v.Matters {
		a.Printf("\n")
		printMatter(&a.Terminal, m)
	}
	others := slices.DeleteFunc(slices.Clone(v.Waits), func(w view.Wait) bool { return w.What.ByPerson() }) // told already
	return chart.Waits(&a.Terminal, others, v.More)
}

// goalWaiter waits until a goal meets the condition of --for.
type goalWaiter struct {
	*app
	b    *instance.Board
	in   *instance.Instance
	goal string
	what string
	form term.Form
	asks *asker // nil: nobody is asked

	is  waitView // the goal, once the condition is met
	end error    // the command's end then
}

// follow looks now, and again at every event of the goal, and returns errOver when the
// condition holds. On a terminal it names the waits meanwhile.
func (w *goalWaiter) follow(ctx context.Context) error {
	var from string
	v := w.ledgerView(w.b, w.in, w.Stderr)
	v.of(w.goal)
	v.waits, v.onlyWaits, v.asks = role.IsTerminal(w.Stderr), true, w.asks
	v.atTerminal()
	defer v.asks.end()
	if err := v.follower.Patiently(ctx, func() (err error) {
		if from, err = w.b.Ledger.Last(ctx); err != nil {
			return err
		}
		if err = v.ask(ctx); err == nil {
			err = w.look(ctx)
		}
		return err
	}); err != nil {
		return err
	}
	return v.follow(ctx, from, func(e blackboard.Event) error {
		if e.Workflow != w.goal && !leaves(e, w.goal) {
			return nil
		}
		return v.follower.Patiently(ctx, func() error { return w.look(ctx) })
	})
}

// look returns errOver when the condition holds.
func (w *goalWaiter) look(ctx context.Context) error {
	over, err := w.over(ctx)
	if err != nil || !over {
		return orGone(ctx, w.app, w.b, w.in, w.goal, err)
	}
	if w.is, err = w.view(ctx); err == nil {
		w.end, err = w.taken(ctx)
	}
	switch {
	case errors.Is(err, errGoesOn):
		return nil // somebody answered meanwhile
	case err != nil:
		return orGone(ctx, w.app, w.b, w.in, w.goal, err)
	}
	return errOver
}

// over says whether the condition seems to hold.
func (w *goalWaiter) over(ctx context.Context) (bool, error) {
	if w.what == forEnd {
		g, err := w.b.Records.Workflow(ctx, w.goal)
		return g.Status.Ended(), err
	}
	if over, err := atEnd(ctx, w.b, w.goal); err != nil || over || w.what != forQuestion {
		return over, err
	}
	g, err := w.b.Records.Workflow(ctx, w.goal)
	return g.Questions+g.Gates > 0, err
}

// view reads the goal as it is printed.
func (w *goalWaiter) view(ctx context.Context) (v waitView, err error) {
	g, err := w.b.Records.Workflow(ctx, w.goal)
	if err != nil {
		return v, err
	}
	texts, each, err := status.Reader(w.at, w.b, w.in).GoalTexts(ctx, []string{w.goal}, w.form.ForPeople())
	if err := cmp.Or(err, errors.Join(each...)); err != nil {
		return v, err
	}
	now, err := w.b.ServerTime(ctx)
	if err != nil {
		return v, err
	}
	v.Goal = view.Goal{Workflow: g, Text: texts[0], AgeSeconds: view.AgeSeconds(now, g.CreatedAt)}
	v.Matters, v.Waits = []view.Matter{}, []view.Wait{}
	if g.Status.Ended() {
		return v, nil
	}
	if v.Matters, err = w.matters(ctx); err != nil {
		return v, err
	}
	v.Waits, v.More, err = status.Reader(w.at, w.b, w.in).Waits(ctx, w.goal)
	return v, err
}

// matters reads the questions and gates of the goal and its work that waits for a model, and those of the goal that has to land before it.
// For --for idle, it is one too that the goal cannot land.
func (w *goalWaiter) matters(ctx context.Context) ([]view.Matter, error) {
	r := view.MatterReader{Reader: status.Reader(w.at, w.b, w.in), Workflow: w.goal, Whole: !w.form.ForPeople()}
	all, err := view.Holding(ctx, r)
	if err != nil {
		return nil, err
	}
	_, ahead, err := view.MattersAhead(ctx, r)
	if all = append(all, ahead...); err != nil || w.what != forIdle {
		return all, err
	}
	barred, err := view.Barred(ctx, r)
	return append(all, barred...), err
}

// taken returns the command's end for the goal's state; errGoesOn when the condition
// does not hold.
func (w *goalWaiter) taken(ctx context.Context) (end, err error) {
	ended := w.is.Status.Ended()
	switch {
	case !ended && (w.what == forEnd || w.what != forTerminal && len(w.is.Matters) == 0):
		return nil, errGoesOn
	case w.what == forTerminal || w.what == forEnd:
		return w.ending(ctx, w.b, w.in, w.goal)
	case w.what == forIdle || !ended:
		return nil, nil
	}
	return w.endedUnasked(ctx, w.b, w.in, w.is.Workflow)
}

// endedUnasked is the command's end when the goal ended, and nothing of it waits for a person any more.
func (a *app) endedUnasked(ctx context.Context, b *instance.Board, in *instance.Instance, w blackboard.Workflow) (end, err error) {
	if w.Status != blackboard.WorkflowAchieved {
		return a.ending(ctx, b, in, w.ID)
	}
	return role.Fail(role.Failed, fmt.Errorf("goal %s is %s: nothing of it waits for a person any more", words.Short(w.ID), w.Status),
		"%s", a.at.CommandLine(in, "show "+words.Short(w.ID))), nil
}
