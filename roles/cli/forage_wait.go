package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

// await follows a goal to its end, and returns how that went.
func (a *app) await(b *redis.Board, in *instance, id, from string, limit time.Duration) error {
	ctx := a.ctx
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	v := a.ledgerView(b, in, a.Stderr)
	v.workflow, v.brief, v.waits = id, true, true
	end := &ledgerEnd{board: b, workflow: id}
	v.each = func(e blackboard.Event) error { return end.after(ctx, e) }
	err := v.follow(ctx, from, func(blackboard.Event) error { return nil })
	goesOn := fmt.Sprintf("goal %s goes on; sett watch --workflow %s follows it, sett show %s says what it waits for", short(id), short(id), short(id))
	switch {
	case errors.Is(err, errOver):
		var end error
		if err := patiently(a.ctx, func() (err error) {
			end, err = a.ending(b, in, id)
			return err
		}); err != nil {
			return err
		}
		return end
	case a.ctx.Err() != nil:
		return interrupted("interrupted; " + goesOn)
	case ctx.Err() != nil:
		return role.Fail(role.TimedOut, fmt.Errorf("%s was not enough%s", limit, a.stillWaits(b, in, id)), "sett watch --workflow %s", short(id))
	}
	return err
}

var errOver = errors.New("over")

// patiently repeats a read while the blackboard is away: who waits for a goal does
// not give up for that.
func patiently(ctx context.Context, read func() error) error {
	every := time.NewTicker(200 * time.Millisecond)
	defer every.Stop()
	for {
		err := read()
		if !errors.Is(err, blackboard.ErrUnavailable) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

// personsTurn says whether a workflow waits for people only. What people do while
// it looks is an event to look again at.
func personsTurn(ctx context.Context, b *redis.Board, id string) (bool, error) {
	before, err := readAccount(ctx, b, id)
	if err != nil || !humansOnly(before.workflow, before.open()) {
		return false, err
	}
	after, err := b.Workflow(ctx, id)
	return after == before.workflow, err
}

// ending says how a goal ended, or why nothing goes on, as the command's end; err
// is for when that cannot be read.
func (a *app) ending(b *redis.Board, in *instance, id string) (end, err error) {
	w, err := b.Workflow(a.ctx, id)
	if err != nil {
		return nil, err
	}
	took := span(w.EndedAt.Sub(w.CreatedAt))
	switch w.Status {
	case blackboard.WorkflowAchieved:
		t, err := b.Artefact(a.ctx, w.TerminalID)
		if err == nil {
			a.sayf("sett: goal achieved in %s: %s %s%s\n", took, title(t), short(t.ID), because(gist(&t)))
		}
		return nil, err
	case blackboard.WorkflowFailed:
		f, err := b.Artefact(a.ctx, w.FailureID)
		return role.Fail(role.Failed, fmt.Errorf("goal failed after %s: %s of %s%s", took, title(f), maker(f), because(gist(&f))),
			"sett show %s", short(f.ID)), err
	case blackboard.WorkflowStalled:
		return role.Fail(role.NoTerminal, fmt.Errorf("goal ended after %s without a Terminal: nobody wanted the last artefact", took),
			"sett show %s", short(id)), nil
	}
	return a.waitsForPeople(b, in, id)
}

// waitsForPeople names what a workflow wants of people, each with what to type.
func (a *app) waitsForPeople(b *redis.Board, in *instance, id string) (end, err error) {
	questions, gates, err := openMatters(a.ctx, b)
	if err != nil {
		return nil, err
	}
	all, err := matterReader{app: a, b: b, in: in, workflow: id}.read(a.ctx, questions, gates)
	if err != nil {
		return nil, err
	}
	lines := []string{"only a person can go on:"}
	hint := a.commandLine(in, "show "+short(id))
	for _, m := range all {
		lines = append(lines, m.brief())
		if len(m.Commands) > 0 {
			hint = m.Commands[0]
		}
	}
	return role.Fail(role.Waiting, errors.New(strings.Join(lines, "\n")), "%s", hint), nil
}
