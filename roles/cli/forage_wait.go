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
	v.workflow, v.brief = id, true
	err := v.follow(ctx, from, func(e blackboard.Event) error {
		over := false
		err := patiently(ctx, func() (err error) {
			over, err = isOver(ctx, b, id, e)
			return err
		})
		if err == nil && over {
			err = errOver
		}
		return err
	})
	goesOn := fmt.Sprintf("goal %s goes on; sett watch --workflow %s follows it, sett show %s says what it waits for", short(id), short(id), short(id))
	switch {
	case errors.Is(err, errOver):
		var end error
		if err := patiently(a.ctx, func() (err error) {
			end, err = a.ending(b, id)
			return err
		}); err != nil {
			return err
		}
		return end
	case a.ctx.Err() != nil:
		return interrupted("interrupted; " + goesOn)
	case ctx.Err() != nil:
		return role.Fail(role.TimedOut, fmt.Errorf("%s was not enough; %s", limit, goesOn), "")
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

// isOver says whether nothing more happens to a workflow after an event, at least
// not without a person.
func isOver(ctx context.Context, b *redis.Board, id string, e blackboard.Event) (bool, error) {
	switch e.Kind {
	case blackboard.EventResult, blackboard.EventComplete, blackboard.EventTerminate, blackboard.EventRefuse:
	default:
		return false, nil // takes no work away
	}
	w, err := b.Workflow(ctx, id)
	if err != nil || w.Questions == 0 || w.Status.Ended() {
		// After a result comes the end of its claim, even where that is there to be read already.
		return w.Status.Ended() && e.Kind != blackboard.EventResult, err
	}
	account, err := readAccount(ctx, b, id)
	return humansOnly(account.workflow, account.open()), err
}

// ending says how a goal ended, or why nothing goes on, as the command's end; err
// is for when that cannot be read.
func (a *app) ending(b *redis.Board, id string) (end, err error) {
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
	return a.questions(b, id)
}

// questions names what a workflow wants to know of people.
func (a *app) questions(b *redis.Board, id string) (end, err error) {
	account, err := readAccount(a.ctx, b, id)
	if err != nil {
		return nil, err
	}
	lines := []string{"only a person can go on:"}
	last := id
	for _, c := range account.open() {
		for _, g := range c.Grants {
			if g.State != blackboard.GrantAwaitingAnswer {
				continue
			}
			q, err := b.Artefact(a.ctx, g.ResultID)
			if err != nil {
				return nil, err
			}
			last = q.ID
			lines = append(lines, fmt.Sprintf("%s asks (Question %s): %s", g.Agent, short(q.ID), strings.TrimSpace(cleanText(q.Payload))))
		}
	}
	return role.Fail(role.Waiting, errors.New(strings.Join(lines, "\n")), "sett show %s", short(last)), nil
}
