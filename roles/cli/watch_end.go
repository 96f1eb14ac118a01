package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/roles/role"
)

var (
	errOver   = errors.New("over")
	errGoesOn = errors.New("goes on")
)

// toEnd shows the ledger after a position until no work is outstanding, of the
// view's goal or of all, and returns how that ended as the command's end; err is for
// when that cannot be found out.
func (v *ledgerView) toEnd(ctx context.Context, from string) (end, err error) {
	l := &ledgerEnd{board: v.board, workflow: v.workflow}
	over, err := l.at(ctx, from)
	for {
		if err == nil && !over {
			err = v.follow(ctx, from, func(e blackboard.Event) error { return l.after(ctx, e) })
		}
		if err != nil && !errors.Is(err, errOver) {
			return nil, err
		}
		err = patiently(ctx, func() (err error) {
			if v.workflow == "" {
				end, err = v.a.endingOfAll(ctx, v.board, v.in, l.failed)
			} else {
				end, err = v.a.ending(ctx, v.board, v.in, v.workflow)
			}
			return err
		})
		if !errors.Is(err, errGoesOn) {
			return end, err
		}
		from, l.last, over, err = l.last, "", false, nil // somebody answered meanwhile
	}
}

// ledgerEnd finds the entry after which nothing is outstanding. That the state says
// so comes before the entries about it have been shown: it is known then up to
// which one the ledger has to be followed.
type ledgerEnd struct {
	board    *redis.Board
	workflow string   // empty: all
	last     string   // the entry to end at, once nothing is outstanding
	failed   []string // goals that have failed by the entries there were
}

// at says whether nothing is outstanding and no entry comes after a position.
func (l *ledgerEnd) at(ctx context.Context, from string) (bool, error) {
	if err := patiently(ctx, func() error { return l.settle(ctx) }); err != nil || l.last == "" {
		return false, err
	}
	next, err := l.board.History(ctx, from, 1)
	return len(next) == 0, err
}

// after returns errOver when an entry is the last one to be shown.
func (l *ledgerEnd) after(ctx context.Context, e blackboard.Event) error {
	l.note(e)
	if l.last == "" && (l.workflow == "" || e.Workflow == l.workflow) && takesWorkAway(e.Kind) {
		if err := patiently(ctx, func() error { return l.settle(ctx) }); err != nil {
			return err
		}
	}
	if e.ID == l.last {
		return errOver
	}
	return nil
}

// note keeps which goals have failed. One that is tried again has not.
func (l *ledgerEnd) note(e blackboard.Event) {
	status := e.GoalEnded()
	if status == "" && e.Kind != blackboard.EventRetry {
		return
	}
	l.failed = slices.DeleteFunc(l.failed, func(id string) bool { return id == e.Workflow })
	if status == blackboard.WorkflowFailed {
		l.failed = append(l.failed, e.Workflow)
	}
}

// takesWorkAway says whether nothing may be outstanding after such an entry, or
// nothing but what people do.
func takesWorkAway(k blackboard.EventKind) bool {
	switch k {
	case blackboard.EventResult, blackboard.EventComplete, blackboard.EventTerminate, blackboard.EventRefuse,
		blackboard.EventApprove, blackboard.EventCancel, blackboard.EventGoal: // that one may be held
		return true
	}
	return false
}

// settle looks whether nothing is outstanding now.
func (l *ledgerEnd) settle(ctx context.Context) error {
	done, err := l.done(ctx)
	if err != nil || !done {
		return err
	}
	l.last, err = l.board.Last(ctx)
	return err
}

func (l *ledgerEnd) done(ctx context.Context) (bool, error) {
	if l.workflow != "" {
		return atEnd(ctx, l.board, l.workflow)
	}
	active, err := l.board.ActiveWorkflows(ctx)
	for _, id := range active {
		if over, err := atEnd(ctx, l.board, id); err != nil || !over {
			return false, err
		}
	}
	return err == nil, err
}

// atEnd says whether a goal has ended, or nothing of it goes on before a person acts.
func atEnd(ctx context.Context, b *redis.Board, goal string) (bool, error) {
	w, err := b.Workflow(ctx, goal)
	if err != nil || w.Status.Ended() {
		return err == nil, err
	}
	if w.Questions+w.Gates == 0 {
		return false, nil
	}
	return personsTurn(ctx, b, goal)
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

// endingOfAll says how it is to be taken that nothing is outstanding any more, of
// any goal. These have failed.
func (a *app) endingOfAll(ctx context.Context, b *redis.Board, in *instance, failed []string) (end, err error) {
	active, err := b.ActiveCount(ctx)
	if err != nil {
		return nil, err
	}
	if active > 0 {
		return a.waitsForPeople(ctx, b, in, "")
	}
	if len(failed) == 0 {
		return nil, nil
	}
	what := "goal " + short(failed[0])
	if len(failed) > 1 {
		what = fmt.Sprintf("%d goals failed: %s", len(failed), strings.Join(shorts(failed), ", "))
	} else {
		what += " failed"
	}
	return role.Fail(role.Failed, errors.New(what), "%s", a.commandLine(in, "show "+short(failed[0]))), nil
}
