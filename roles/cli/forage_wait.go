package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// following are the flags of what starts work and can follow its goal to the end.
type following struct {
	Wait    waitFlag      `placeholder:"[=DURATION]" help:"Follow the goal to its end, or for so long."`
	Timeout time.Duration `placeholder:"DURATION" help:"With --wait: no longer than this (default: for ever)."`
}

// limit is how long the command may take in all; 0: for ever.
func (f following) limit(command string) (time.Duration, error) {
	_, err := time.ParseDuration(f.Wait.next)
	switch {
	case f.Wait.given && f.Wait.limit == 0 && err == nil:
		return 0, role.Fail(role.Usage, fmt.Errorf("%s after --wait would be a word of the text, not how long to wait", f.Wait.next), "--wait=%s", f.Wait.next)
	case f.Timeout > 0 && !f.Wait.given:
		return 0, role.Fail(role.Usage, errors.New("--timeout is how long --wait may take"), "sett %s --wait --timeout 10m", command)
	case f.Timeout > 0 && f.Wait.limit > 0:
		return 0, role.Fail(role.Usage, errors.New("how long to wait is given twice"), "either --wait=%s or --timeout %s", f.Wait.limit, f.Timeout)
	}
	return max(f.Timeout, f.Wait.limit), nil
}

// waitFlag is a flag that may have a duration: --wait or --wait=10m.
type waitFlag struct {
	given bool
	limit time.Duration // 0: for ever
	next  string        // the argument after it, where it has no value
}

// IsBool makes kong take the flag without a value.
func (*waitFlag) IsBool() bool { return true }

// Decode reads the value, if there is one.
func (p *waitFlag) Decode(ctx *kong.DecodeContext) error {
	p.given = true
	if next := ctx.Scan.Peek(); next.Type != kong.FlagValueToken {
		p.next = next.String()
		return nil
	}
	s := fmt.Sprint(ctx.Scan.Pop().Value)
	d, err := time.ParseDuration(s)
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no duration such as 90s or 10m", s)
	}
	p.limit = d
	return nil
}

// await follows a goal to its end, as long as the context allows, and returns how
// that went. The limit is the context's, for the message.
func (a *app) await(ctx context.Context, b *redis.Board, in *instance, id, from string, limit time.Duration) error {
	v := a.ledgerView(b, in, a.Stderr)
	v.workflow, v.brief, v.waits = id, true, true
	end, err := v.toEnd(ctx, from)
	switch {
	case err == nil:
		return end
	case a.ctx.Err() != nil:
		return interrupted(fmt.Sprintf("interrupted; goal %s goes on; %s follows it, %s says what it waits for",
			short(id), a.commandLine(in, "watch --workflow "+short(id)), a.commandLine(in, "show "+short(id))))
	case ctx.Err() != nil:
		return a.notEnough(b, in, id, limit)
	}
	return err
}

// ending says how a goal ended, or why nothing goes on, as the command's end; err
// is for when that cannot be read, and errGoesOn when something does.
func (a *app) ending(ctx context.Context, b *redis.Board, in *instance, id string) (end, err error) {
	w, err := b.Workflow(ctx, id)
	if err != nil {
		return nil, err
	}
	took := span(w.EndedAt.Sub(w.CreatedAt))
	switch w.Status {
	case blackboard.WorkflowAchieved:
		t, err := b.Artefact(ctx, w.TerminalID)
		if err == nil {
			a.sayf("sett: goal achieved in %s: %s %s%s\n", took, title(t), short(t.ID), because(gist(&t)))
		}
		return nil, err
	case blackboard.WorkflowFailed:
		f, err := b.Artefact(ctx, w.FailureID)
		return role.Fail(role.Failed, fmt.Errorf("goal failed after %s: %s of %s%s", took, title(f), maker(f), because(gist(&f))),
			"%s", a.commandLine(in, "show "+short(f.ID))), err
	case blackboard.WorkflowStalled:
		return role.Fail(role.NoTerminal, fmt.Errorf("goal ended after %s without a Terminal: nobody wanted the last artefact", took),
			"%s", a.commandLine(in, "show "+short(id))), nil
	}
	return a.waitsForPeople(ctx, b, in, id)
}

// waitsForPeople names what a workflow, or (empty) any, wants of people, each with
// what to type. errGoesOn when there is nothing: somebody has just acted.
func (a *app) waitsForPeople(ctx context.Context, b *redis.Board, in *instance, id string) (end, err error) {
	questions, gates, err := openMatters(ctx, b)
	if err != nil {
		return nil, err
	}
	all, err := matterReader{app: a, b: b, in: in, workflow: id}.read(ctx, questions, gates)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, errGoesOn
	}
	lines := []string{"only a person can go on:"}
	hint := "" // what to type stands below each
	for _, m := range all {
		lines = append(lines, m.brief())
		if len(m.Commands) == 0 {
			hint = a.commandLine(in, "questions")
		}
	}
	return role.Fail(role.Waiting, errors.New(strings.Join(lines, "\n")), "%s", hint), nil
}

// mostTimedOut is how many waits are named where a command ends for having waited
// too long.
const mostTimedOut = 20

// notEnough is the end of who has waited as long as he wanted: it names what a
// goal, or (empty) all work, still waits for.
func (a *app) notEnough(b *redis.Board, in *instance, goal string, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(a.ctx, 3*time.Second)
	defer cancel()
	text, hint := fmt.Sprintf("%s was not enough; work goes on", limit), a.commandLine(in, "list -v")
	if goal != "" {
		text, hint = fmt.Sprintf("%s was not enough; goal %s goes on", limit, short(goal)), a.commandLine(in, "show "+short(goal))
	}
	waits, more, err := a.waitsOf(ctx, b, in, goal)
	switch {
	case err != nil:
		text += " when the blackboard is back: " + firstLine(err)
	case len(waits) > 0:
		text += ", and waits for"
		for _, w := range waits[:min(len(waits), mostTimedOut)] {
			text += "\n  " + clean(w.line())
		}
		if more += max(len(waits)-mostTimedOut, 0); more > 0 {
			text += fmt.Sprintf("\n  and %d more", more)
		}
	}
	return role.Fail(role.TimedOut, errors.New(text), "%s", hint)
}
