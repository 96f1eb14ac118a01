package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// What --for of `sett wait` takes.
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
	outputs
}

// Help is shown by `sett wait --help`.
func (waitCmd) Help() string {
	return `Waits for a goal, and prints how it is then. What is so already is not waited for.

--for terminal ends as forage --wait does: 0 achieved, 1 failed, 6 it ended without a
Terminal, 5 only a person can go on, who then is told what to type.
--for end does so, too, but waits on where only a person can go on: never 5.
--for question ends with 0 when something of the goal waits for an answer or an approval,
and prints that; with 1 when the goal ends before, or 6 when that was without a Terminal.
--for idle ends with 0 when the goal has ended, however, or waits for nothing but people.
After --timeout the exit code is 4, and what is waited for is named; on a terminal also
before, on stderr.

For programs the goal has the fields of sett goals -o json, open_questions (see sett questions),
and waits: what it still waits for, each with what (claim, bid, decision, start, slot,
workspace, result, answer or approval), agent, since, age_seconds, until,
subject_id, workflow_id and text; waits_more counts the open work that was not looked at.

Examples:
  sett wait --timeout 10m
  sett wait --for end
  sett wait 7XK2ABCD --for question -o json
  sett wait @last --for idle && sett questions`
}

// Run waits.
func (c *waitCmd) Run(a *app) error {
	if c.Timeout < 0 {
		return role.Fail(role.Usage, errors.New("--timeout is less than nothing"), "sett wait @last --timeout 10m")
	}
	ctx, cancel := bounded(a.ctx, c.Timeout, nil)
	defer cancel()
	b, in, done, err := a.boardWithin(c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	id, err := a.resolveWorkflow(a.ctx, b, orElse(c.Goal, lastGoal))
	if err != nil {
		return err
	}
	w := &goalWaiter{app: a, b: b, in: in, goal: id, what: c.For, form: c.outputs}
	err = w.follow(ctx)
	switch {
	case errors.Is(err, errOver):
	case a.ctx.Err() != nil:
		return interrupted(fmt.Sprintf("interrupted; goal %s goes on", short(id)))
	case ctx.Err() != nil:
		return a.notEnough(b, in, id, c.Timeout)
	default:
		return err
	}
	if err := a.emit(c.outputs, shown{whole: w.is, table: func() error { return w.is.text(a) }}); err != nil {
		return err
	}
	return w.end
}

// waitView is a goal as `wait -o json` prints it.
type waitView struct {
	goalRow
	Matters []matter `json:"open_questions"` // and gates, as sett questions lists them
	Waits   []wait   `json:"waits"`
	More    int      `json:"waits_more,omitempty"` // open work that was not looked at
}

func (v waitView) text(a *app) error {
	if err := a.goalTable([]goalRow{v.goalRow}); err != nil {
		return err
	}
	for _, m := range v.Matters {
		a.printf("\n")
		m.text(a)
	}
	others := slices.DeleteFunc(slices.Clone(v.Waits), wait.byPerson) // people's are told already
	return a.waitLines(others, v.More)
}

// goalWaiter waits for something to be so of a goal.
type goalWaiter struct {
	*app
	b    *redis.Board
	in   *instance
	goal string
	what string
	form outputs

	is  waitView // how the goal is, and
	end error    // how that is to be taken, once it is so
}

// follow looks now, and whenever something happens to the goal, and returns errOver
// when what is waited for is so. Meanwhile it tells who sits at a terminal what is
// waited for.
func (w *goalWaiter) follow(ctx context.Context) error {
	var from string
	if err := patiently(ctx, func() (err error) {
		if from, err = w.b.Last(ctx); err == nil {
			err = w.look(ctx)
		}
		return err
	}); err != nil {
		return err
	}
	v := w.ledgerView(w.b, w.in, w.Stderr)
	v.workflow, v.waits, v.onlyWaits = w.goal, role.IsTerminal(w.Stderr), true
	return v.follow(ctx, from, func(e blackboard.Event) error {
		if e.Workflow != w.goal {
			return nil
		}
		return patiently(ctx, func() error { return w.look(ctx) })
	})
}

// look returns errOver when what is waited for is so.
func (w *goalWaiter) look(ctx context.Context) error {
	over, err := w.over(ctx)
	if err != nil || !over {
		return err
	}
	if w.is, err = w.view(ctx); err == nil {
		w.end, err = w.taken(ctx)
	}
	switch {
	case errors.Is(err, errGoesOn):
		return nil // somebody answered meanwhile
	case err != nil:
		return err
	}
	return errOver
}

// over says whether what is waited for seems to be so.
func (w *goalWaiter) over(ctx context.Context) (bool, error) {
	if w.what == forTerminal || w.what == forIdle {
		return atEnd(ctx, w.b, w.goal)
	}
	g, err := w.b.Workflow(ctx, w.goal)
	return g.Status.Ended() || w.what == forQuestion && g.Questions+g.Gates > 0, err
}

// view reads what is printed.
func (w *goalWaiter) view(ctx context.Context) (v waitView, err error) {
	g, err := w.b.Workflow(ctx, w.goal)
	if err != nil {
		return v, err
	}
	texts, each, err := w.goalTexts(w.b, []string{w.goal}, w.form.forPeople())
	if err := cmp.Or(err, errors.Join(each...)); err != nil {
		return v, err
	}
	now, err := w.b.ServerTime(ctx)
	if err != nil {
		return v, err
	}
	v.goalRow = goalRow{g, texts[0], ageSeconds(now, g.CreatedAt)}
	v.Matters, v.Waits = []matter{}, []wait{}
	if g.Status.Ended() {
		return v, nil
	}
	questions, gates, err := openMatters(ctx, w.b)
	if err != nil {
		return v, err
	}
	if v.Matters, err = (matterReader{app: w.app, b: w.b, in: w.in, workflow: w.goal, whole: !w.form.forPeople()}).read(ctx, questions, gates); err != nil {
		return v, err
	}
	v.Waits, v.More, err = w.waitsOf(ctx, w.b, w.in, w.goal)
	return v, err
}

// taken is what it comes to how the goal is; errGoesOn when it is not what is
// waited for.
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

// endedUnasked is the end of who waited for a goal to ask, which ended before.
func (a *app) endedUnasked(ctx context.Context, b *redis.Board, in *instance, w blackboard.Workflow) (end, err error) {
	if w.Status != blackboard.WorkflowAchieved {
		return a.ending(ctx, b, in, w.ID)
	}
	return role.Fail(role.Failed, fmt.Errorf("goal %s ended before it asked anybody: it is %s", short(w.ID), w.Status),
		"%s", a.commandLine(in, "show "+short(w.ID))), nil
}
