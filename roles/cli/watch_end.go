package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/ledger"
	"sett/roles/cli/status"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

var (
	errOver   = errors.New("over")
	errGoesOn = errors.New("goes on")
)

// toEnd shows the ledger after a position until no work is outstanding, of the
// view's goal or of all, and returns the command's end; err is set when that cannot be
// read.
func (v *ledgerView) toEnd(ctx context.Context, from string) (end, err error) {
	end, err = v.reachEnd(ctx, from)
	return end, orGone(ctx, v.a, v.board, v.in, v.workflow, err)
}

func (v *ledgerView) reachEnd(ctx context.Context, from string) (end, err error) {
	defer v.asks.end()
	if err := v.ask(ctx); err != nil {
		return nil, err
	}
	l := &ledgerEnd{board: v.board, follower: v.follower, workflow: v.workflow}
	over, err := l.at(ctx, from)
	for {
		if err == nil && !over {
			err = v.follow(ctx, from, func(e blackboard.Event) error { return l.after(ctx, e) })
		}
		if err != nil && !errors.Is(err, errOver) {
			return nil, err
		}
		err = v.follower.Patiently(ctx, func() (err error) {
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

// ledgerEnd finds the entry after which nothing is outstanding. The state shows this
// before all entries about it have been printed; last is then the entry to follow the
// ledger to.
type ledgerEnd struct {
	board    *instance.Board
	follower *ledger.Follower
	workflow string   // empty: all
	last     string   // the entry to end at, once nothing is outstanding
	failed   []string // goals that have failed by the entries there were
}

// at says whether nothing is outstanding and no entry comes after a position.
func (l *ledgerEnd) at(ctx context.Context, from string) (bool, error) {
	if err := l.follower.Patiently(ctx, func() error { return l.settle(ctx) }); err != nil || l.last == "" {
		return false, err
	}
	next, err := l.board.Ledger.History(ctx, from, 1)
	return len(next) == 0, err
}

// after returns errOver when an entry is the last one to be shown.
func (l *ledgerEnd) after(ctx context.Context, e blackboard.Event) error {
	l.note(e)
	if l.last == "" && leaves(e, l.workflow) {
		if err := l.follower.Patiently(ctx, func() error { return l.settle(ctx) }); err != nil {
			return err
		}
	}
	if e.ID == l.last {
		return errOver
	}
	return nil
}

// leaves says whether after an entry there may be nothing left to wait for but people, in a goal or (empty)
// in all. People that another goal needs keep this one from its turn to land.
func leaves(e blackboard.Event, goal string) bool {
	return e.OnlyPeople() || (goal == "" || e.Workflow == goal) && (e.GoalEnded() != "" || e.WaitsForTurn())
}

// note keeps the failed goals. A goal that is retried counts no longer.
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

// settle sets last if nothing is outstanding now.
func (l *ledgerEnd) settle(ctx context.Context) error {
	done, err := l.done(ctx)
	if err != nil || !done {
		return err
	}
	l.last, err = l.board.Ledger.Last(ctx)
	return err
}

func (l *ledgerEnd) done(ctx context.Context) (bool, error) {
	if l.workflow != "" {
		return atEnd(ctx, l.board, l.workflow)
	}
	active, err := l.board.Index.ActiveWorkflows(ctx)
	if err != nil || len(active) == 0 {
		return err == nil, err
	}
	queue, err := view.LandingQueue(ctx, status.BoardOf(l.board))
	if err != nil {
		return false, err
	}
	for _, id := range active {
		if w, err := l.board.Records.Workflow(ctx, id); err != nil || !over(w, queue) {
			return false, err
		}
	}
	return true, nil
}

// atEnd says whether a goal has ended, or waits for people alone.
func atEnd(ctx context.Context, b *instance.Board, goal string) (bool, error) {
	w, err := b.Records.Workflow(ctx, goal)
	if err != nil || !w.WaitsForTurn() {
		return over(w, nil), err
	}
	queue, err := view.LandingQueue(ctx, status.BoardOf(b))
	if err != nil {
		return false, err
	}
	w, err = b.Records.Workflow(ctx, goal) // it may have had its turn
	return over(w, queue), err
}

// over says whether a goal has ended, or waits for people alone: its own, or those of the
// goal that has to land before it.
func over(w blackboard.Workflow, queue []blackboard.Workflow) bool {
	_, behind := w.Ahead(queue)
	return w.Status.Ended() || w.OnlyPeople() || behind
}

// endingOfAll returns the command's end when no work is outstanding: goals that are
// still active wait for people; if there are none, the failed ones make it an error.
func (a *app) endingOfAll(ctx context.Context, b *instance.Board, in *instance.Instance, failed []string) (end, err error) {
	active, err := b.Index.ActiveCount(ctx)
	if err != nil {
		return nil, err
	}
	if active > 0 {
		return a.waitsForPeople(ctx, b, in, "")
	}
	if len(failed) == 0 {
		return nil, nil
	}
	what := "goal " + words.Short(failed[0])
	if len(failed) > 1 {
		what = fmt.Sprintf("%d goals failed: %s", len(failed), strings.Join(words.Shorts(failed), ", "))
	} else {
		what += " failed"
	}
	return role.Fail(role.Failed, errors.New(what), "%s", a.at.CommandLine(in, "show "+words.Short(failed[0]))), nil
}

// goalCheck is the time between two looks at whether a followed goal, and the ledger, are
// still there. A goal that is gone gets no more entries in the ledger.
const goalCheck = 2 * time.Second

// errGone: the followed goal, or the ledger, is no longer on the blackboard.
var errGone = errors.New("cannot be found any more")

// guard calls lost when the view's goal or the ledger is no longer on the blackboard.
func (v *ledgerView) guard(ctx context.Context, lost context.CancelCauseFunc) {
	lost(role.Every(ctx, goalCheck, func(ctx context.Context) error { return v.gone(ctx) }))
}

// gone returns an error when the view's goal or the ledger is no longer on the
// blackboard. A blackboard that is away is waited for.
func (v *ledgerView) gone(ctx context.Context) error {
	return gone(ctx, v.a, v.board, v.in, v.workflow)
}

// orGone is an error of a look at a goal, or the reason why the goal is no longer there, which the guard of those that follow
// it would have found a moment later.
func orGone(ctx context.Context, a *app, b *instance.Board, in *instance.Instance, goal string, err error) error {
	if goal == "" || !errors.Is(err, blackboard.ErrNotFound) {
		return err
	}
	return cmp.Or(gone(ctx, a, b, in, goal), err)
}

func gone(ctx context.Context, a *app, b *instance.Board, in *instance.Instance, goal string) error {
	code, what := role.Environment, "the ledger"
	_, look := b.Look(ctx)
	if goal != "" {
		if _, err := b.Records.Workflow(ctx, goal); errors.Is(err, blackboard.ErrNotFound) {
			code, what = role.NotFound, "goal "+words.Short(goal)
		}
	}
	why, hint := errGone, a.at.CommandLine(in, "goals")
	var lost *role.Error
	switch {
	case in.External && instance.FateOf(in) == instance.Removed: // a purge took its keys from the server
		return ledger.Gone(a.at, in, instance.Removed, goal)
	case errors.As(instance.LostLedger(a.at, in, look), &lost):
		why, hint = fmt.Errorf("%w: %w", errGone, lost.Err), lost.Hint
	case code != role.NotFound:
		return nil
	}
	return role.Fail(code, fmt.Errorf("%s %w", what, why), "%s", hint)
}
