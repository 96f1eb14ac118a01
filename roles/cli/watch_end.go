package cli

import (
	"context"
	"errors"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// watchToEnd shows the ledger until no work is outstanding, of one goal or of all,
// and returns how the goal ended.
func (a *app) watchToEnd(v *ledgerView, from string) error {
	b := v.board
	end := &ledgerEnd{board: b, workflow: v.workflow}
	over, err := end.at(a.ctx, from)
	if err == nil && !over {
		v.each = func(e blackboard.Event) error { return end.after(a.ctx, e) }
		err = v.follow(a.ctx, from, func(blackboard.Event) error { return nil })
	}
	if err != nil && !errors.Is(err, errOver) {
		return err // an interrupt is one: there was an end to wait for
	}
	if v.workflow == "" {
		return nil
	}
	var how error
	if err := patiently(a.ctx, func() (err error) {
		how, err = a.ending(b, v.in, v.workflow)
		return err
	}); err != nil {
		return err
	}
	return how
}

// ledgerEnd finds the entry after which nothing is outstanding. That the state says
// so comes before the entries about it have been shown: it is known then up to
// which one the ledger has to be followed.
type ledgerEnd struct {
	board    *redis.Board
	workflow string // empty: all
	last     string // the entry to end at, once nothing is outstanding
}

// at says whether nothing is outstanding and no entry comes after a position.
func (l *ledgerEnd) at(ctx context.Context, from string) (bool, error) {
	if err := l.settle(ctx); err != nil || l.last == "" {
		return false, err
	}
	next, err := l.board.History(ctx, from, 1)
	return len(next) == 0, err
}

// after returns errOver when an entry is the last one to be shown.
func (l *ledgerEnd) after(ctx context.Context, e blackboard.Event) error {
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
	if l.workflow == "" {
		active, err := l.board.ActiveCount(ctx)
		return active == 0, err
	}
	w, err := l.board.Workflow(ctx, l.workflow)
	if err != nil || w.Status.Ended() {
		return err == nil, err
	}
	if w.Questions+w.Gates == 0 {
		return false, nil
	}
	return personsTurn(ctx, l.board, l.workflow)
}
