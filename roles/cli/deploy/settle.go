package deploy

import (
	"context"
	"errors"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// chooseMark prepares the mark of the board, which the parts are started with: the known
// one, else a new one.
func (u *upRun) chooseMark() {
	u.mark = u.in.Mark()
	u.known = u.mark.ID != ""
	if !u.known {
		u.mark.ID = u.at.NewID()
	}
	u.certain = u.known && !u.options.AdoptEmpty && !u.in.Purged(u.at.Getenv) || !u.known && u.plan.newData
}

// settle makes sure that the board is the one of before, or gives it its first mark. A
// lost ledger ends the up, unless a person adopts the board, or it was purged from
// another state directory of this user.
func (u *upRun) settle(ctx context.Context) error {
	known := u.in.Mark()
	mark, err := u.board.Control.Settle(ctx, u.mark.ID, false, u.at.Who())
	var lost *blackboard.LostError
	isLost := errors.As(err, &lost)
	switch {
	case err == nil && !(u.options.AdoptEmpty && u.known):
		u.mark = mark
		return u.in.SetMark(known.After(mark))
	case err == nil: // adopted all the same: a part may know an older copy that was in its place for a while
	case !isLost:
		return err
	case !u.options.AdoptEmpty && !u.in.Purged(u.at.Getenv):
		return instance.LostLedger(u.at, u.in, err)
	case u.plan.Action == actionApply && lost.Loss == blackboard.LossForeign:
		return role.Fail(role.Environment, lost, "its parts know the ledger of before: sett down, then %s", u.at.CommandLine(u.in, "up --adopt-empty"))
	}
	if isLost && u.options.AdoptEmpty {
		u.at.Sayf("sett: warning: %v; adopted as it is\n", lost)
	}
	if err := instance.AdoptBoard(ctx, u.at, u.in, u.board); err != nil {
		return err
	}
	u.mark = u.in.Mark()
	return nil
}

// unsettle forgets the mark of a board that goes with a failed start.
func (u *upRun) unsettle() error {
	if u.known {
		return nil
	}
	return u.in.SetMark(blackboard.Mark{})
}
