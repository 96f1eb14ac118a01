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
		over, err := isOver(ctx, b, id, e)
		if err == nil && over {
			err = errOver
		}
		return err
	})
	goesOn := fmt.Sprintf("goal %s goes on; sett watch --workflow %s follows it, sett show %s says what it waits for", short(id), short(id), short(id))
	switch {
	case errors.Is(err, errOver):
		return a.ending(b, id)
	case a.ctx.Err() != nil:
		return interrupted("interrupted; " + goesOn)
	case ctx.Err() != nil:
		return role.Fail(role.TimedOut, fmt.Errorf("%s was not enough; %s", limit, goesOn), "")
	}
	return err
}

var errOver = errors.New("over")

// isOver says whether nothing more happens to a workflow after an event, at least
// not without a person.
func isOver(ctx context.Context, b *redis.Board, id string, e blackboard.Event) (bool, error) {
	ended := e.Attributes["workflow_status"] != ""
	asks := e.Attributes["structural_type"] == string(blackboard.Question) || e.Kind == blackboard.EventResult ||
		e.Kind == blackboard.EventComplete || e.Kind == blackboard.EventTerminate
	if !ended && !asks {
		return false, nil
	}
	w, err := b.Workflow(ctx, id)
	if err != nil || w.Status.Ended() || w.Questions == 0 {
		return w.Status.Ended(), err
	}
	account, err := readAccount(ctx, b, id)
	return humansOnly(account.workflow, account.open()), err
}

// ending says how a goal ended, or why nothing goes on.
func (a *app) ending(b *redis.Board, id string) error {
	w, err := b.Workflow(a.ctx, id)
	if err != nil {
		return err
	}
	took := span(w.EndedAt.Sub(w.CreatedAt))
	switch w.Status {
	case blackboard.WorkflowAchieved:
		t, err := b.Artefact(a.ctx, w.TerminalID)
		if err != nil {
			return err
		}
		a.sayf("sett: goal achieved in %s: %s %s%s\n", took, title(t), short(t.ID), because(gist(&t)))
		return nil
	case blackboard.WorkflowFailed:
		f, err := b.Artefact(a.ctx, w.FailureID)
		if err != nil {
			return err
		}
		by := f.ProducedByAgent
		if by == "" {
			by = f.ProducedByRole
		}
		return role.Fail(role.Failed, fmt.Errorf("goal failed after %s: %s of %s%s", took, title(f), by, because(gist(&f))),
			"sett show %s", short(f.ID))
	case blackboard.WorkflowStalled:
		return role.Fail(role.NoTerminal, fmt.Errorf("goal ended after %s without a Terminal: nobody wanted the last artefact", took),
			"sett show %s", short(id))
	}
	return a.questions(b, id)
}

// questions names what a workflow wants to know of people.
func (a *app) questions(b *redis.Board, id string) error {
	account, err := readAccount(a.ctx, b, id)
	if err != nil {
		return err
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
				return err
			}
			last = q.ID
			lines = append(lines, fmt.Sprintf("%s asks (Question %s): %s", g.Agent, short(q.ID), strings.TrimSpace(cleanText(q.Payload))))
		}
	}
	return role.Fail(role.Waiting, errors.New(strings.Join(lines, "\n")), "sett show %s", short(last))
}
