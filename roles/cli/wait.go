package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// What --for of `sett wait` takes.
const (
	forTerminal = "terminal"
	forQuestion = "question"
	forIdle     = "idle"
)

type waitCmd struct {
	Goal    string        `arg:"" optional:"" help:"A goal, or anything that belongs to one: any part of its id's beginning or end that is unique (default: @last, the newest goal)."`
	For     string        `enum:"terminal,question,idle" default:"terminal" placeholder:"WHAT" help:"terminal: the goal's end (default); question: something for a person to answer or approve; idle: the goal's end, or nothing but people to wait for."`
	Timeout time.Duration `placeholder:"DURATION" help:"No longer than this (default: for ever)."`
	outputs
}

// Help is shown by `sett wait --help`.
func (waitCmd) Help() string {
	return `Waits for a goal, and prints how it is then. What is so already is not waited for.

--for terminal ends as forage --wait does: 0 achieved, 1 failed, 6 it ended without a
Terminal, 5 only a person can go on, who then is told what to type.
--for question ends with 0 when something of the goal waits for an answer or an approval,
and prints that; with 1 or 6 when the goal ends before: failed, or otherwise.
--for idle ends with 0 when the goal has ended, however, or waits for nothing but people.
After --timeout the exit code is 4, and what is waited for is named.

For programs the goal has the fields of sett goals -o json, open_questions (see sett questions),
and waits: what it still waits for, each with what (claim, bid, decision, start, slot,
workspace, result, answer or approval), agent, since, age_seconds, until,
subject_id, workflow_id and text; waits_more counts the open work that was not looked at.

Examples:
  sett wait --timeout 10m
  sett wait 7XK2ABCD --for question -o json
  sett wait @last --for idle && sett questions`
}

// Run waits.
func (c *waitCmd) Run(a *app) error {
	if c.Timeout < 0 {
		return role.Fail(role.Usage, errors.New("--timeout is less than nothing"), "sett wait @last --timeout 10m")
	}
	b, in, done, err := a.boardWithin(c.Timeout)
	if err != nil {
		return err
	}
	defer done()
	id, err := a.resolveWorkflow(a.ctx, b, orElse(c.Goal, lastGoal))
	if err != nil {
		return err
	}
	w := &goalWaiter{app: a, b: b, in: in, goal: id, what: c.For}
	if err := w.await(c.Timeout); err != nil {
		return err
	}
	return c.conclude(w)
}

// conclude prints how the goal is, and returns how that is to be taken.
func (c *waitCmd) conclude(w *goalWaiter) error {
	var v waitView
	var end error
	if err := patiently(w.ctx, func() (err error) {
		if v, err = w.view(c.outputs); err == nil {
			end, err = w.end(v)
		}
		return err
	}); err != nil {
		return err
	}
	if err := w.emit(c.outputs, shown{whole: v, table: func() error { return v.text(w.app) }}); err != nil {
		return err
	}
	return end
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
}

// await returns nil when it is so.
func (w *goalWaiter) await(limit time.Duration) error {
	ctx := w.ctx
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	err := w.follow(ctx)
	switch {
	case err == nil || errors.Is(err, errOver):
		return nil
	case w.ctx.Err() != nil:
		return interrupted(fmt.Sprintf("interrupted; goal %s goes on", short(w.goal)))
	case ctx.Err() != nil:
		return w.timedOut(limit)
	}
	return err
}

// follow looks now, and whenever something happens to the goal.
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
	v := w.ledgerView(w.b, w.in, io.Discard)
	v.form, v.workflow = outputs{"jsonl"}, w.goal
	return v.follow(ctx, from, func(blackboard.Event) error {
		return patiently(ctx, func() error { return w.look(ctx) })
	})
}

// look returns errOver when what is waited for is so.
func (w *goalWaiter) look(ctx context.Context) error {
	g, err := w.b.Workflow(ctx, w.goal)
	if err != nil {
		return err
	}
	over := g.Status.Ended()
	if people := g.Questions+g.Gates > 0; !over && people {
		if over = w.what == forQuestion; !over {
			over, err = personsTurn(ctx, w.b, w.goal)
		}
	}
	if err == nil && over {
		err = errOver
	}
	return err
}

// view reads what is printed.
func (w *goalWaiter) view(o outputs) (v waitView, err error) {
	g, err := w.b.Workflow(w.ctx, w.goal)
	if err != nil {
		return v, err
	}
	texts, each, err := w.goalTexts(w.b, []string{w.goal}, o.forPeople())
	if err := cmp.Or(err, errors.Join(each...)); err != nil {
		return v, err
	}
	now, err := w.b.ServerTime(w.ctx)
	if err != nil {
		return v, err
	}
	v.goalRow = goalRow{g, texts[0], ageSeconds(now, g.CreatedAt)}
	v.Matters, v.Waits = []matter{}, []wait{}
	if g.Status.Ended() {
		return v, nil
	}
	questions, gates, err := openMatters(w.ctx, w.b)
	if err != nil {
		return v, err
	}
	if v.Matters, err = (matterReader{app: w.app, b: w.b, in: w.in, workflow: w.goal, whole: !o.forPeople()}).read(w.ctx, questions, gates); err != nil {
		return v, err
	}
	v.Waits, v.More, err = w.waitsOf(w.ctx, w.b, w.in, w.goal)
	return v, err
}

// end is what the wait comes to.
func (w *goalWaiter) end(v waitView) (end, err error) {
	switch {
	case w.what == forTerminal:
		return w.ending(w.b, w.in, w.goal)
	case w.what == forIdle || len(v.Matters) > 0 || !v.Status.Ended():
		return nil, nil
	case v.Status == blackboard.WorkflowFailed:
		return w.ending(w.b, w.in, w.goal)
	}
	return role.Fail(role.NoTerminal, fmt.Errorf("goal %s ended before it asked anybody: it is %s", short(w.goal), v.Status),
		"%s", w.commandLine(w.in, "show "+short(w.goal))), nil
}

// timedOut names what is still waited for.
func (w *goalWaiter) timedOut(limit time.Duration) error {
	return role.Fail(role.TimedOut, fmt.Errorf("%s was not enough%s", limit, w.stillWaits(w.b, w.in, w.goal)),
		"%s", w.commandLine(w.in, "show "+short(w.goal)))
}

// mostTimedOut is how many waits are named where a command ends for having waited
// too long.
const mostTimedOut = 20

// stillWaits names what a goal waits for, in lines that follow a message.
func (a *app) stillWaits(b *redis.Board, in *instance, goal string) string {
	ctx, cancel := context.WithTimeout(a.ctx, 3*time.Second)
	defer cancel()
	waits, more, err := a.waitsOf(ctx, b, in, goal)
	if err != nil {
		return fmt.Sprintf("; goal %s goes on when its blackboard is back: %s", short(goal), firstLine(err))
	}
	if len(waits) == 0 {
		return fmt.Sprintf("; goal %s goes on", short(goal))
	}
	lines := []string{fmt.Sprintf("; goal %s goes on, and waits for", short(goal))}
	for _, w := range waits[:min(len(waits), mostTimedOut)] {
		lines = append(lines, "  "+clean(w.line()))
	}
	if more += max(len(waits)-mostTimedOut, 0); more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d more", more))
	}
	return strings.Join(lines, "\n")
}
