package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// lookAtOwner refuses a blackboard on a server of the user's own that belongs to another
// workspace, or refuses its user rights, before anything is made. A server that does not answer is told of when its
// parts are started.
func lookAtOwner(ctx context.Context, u *upRun) error {
	if !u.plan.state.External {
		return nil
	}
	to := instance.Connection{URL: u.plan.state.URL, Instance: u.in.Name, As: "sett-up", CAFile: u.facts.authority.file, Convert: true}
	b, err := instance.Glance(ctx, to)
	if schema := (*blackboard.SchemaError)(nil); errors.As(err, &schema) {
		return role.NotOpened(schema, "")
	}
	if lacks := (*blackboard.CommandError)(nil); errors.As(err, &lacks) {
		return role.NotOpened(lacks, "")
	}
	if err != nil {
		return nil //nolint:nilerr // serve waits for it, and says why
	}
	defer b.Close()
	refused, err := b.Rights(ctx)
	if refused != nil {
		return role.Fail(role.Environment, refused, "%s", refused.Remedy())
	}
	if lacks := (*blackboard.CommandError)(nil); errors.As(err, &lacks) {
		return role.NotOpened(lacks, "")
	}
	noteEviction(ctx, u, b)
	planned := *u.in
	planned.State = u.plan.state // the mark is that of the planned blackboard
	if _, err = instance.LookAtOwner(ctx, u.at, &planned, b, claimOf(u)); instance.IsOwned(err) {
		return err
	}
	return nil
}

// noteEviction warns of a server that may drop records, as sett doctor does. One that does not tell soon is not waited for.
func noteEviction(ctx context.Context, u *upRun, b *instance.Board) {
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	d, err := b.Durability(ctx)
	if err != nil {
		return
	}
	if text, remedy := instance.Evicts(d, u.plan.state.URL); text != "" {
		u.facts.evicts = fmt.Sprintf("warning: %s; to keep them: %s", text, remedy)
		u.plan.note(&u.plan.atEnd, "%s", u.facts.evicts) // a plan that is made again has it from the facts
	}
}

// claimOf is how the up asks for its board.
func claimOf(u *upRun) instance.Claim {
	return instance.Claim{
		TakeOver: u.options.TakeOver, Server: u.options.Server,
		Runs: slices.ContainsFunc(u.facts.units, atWork),
	}
}

// chooseOwner makes sure that the instance has the id by which its board knows it.
func chooseOwner(u *upRun) error {
	if !u.in.External {
		return nil
	}
	return instance.ChooseOwner(u.at, u.in)
}

// takeBoard makes sure that the board is the one of before, and makes it the workspace's. It
// looks at the owner again: another workspace may have been faster. A board that is lost gets
// no owner; one that a person takes over gets its new mark first.
func takeBoard(ctx context.Context, u *upRun) error {
	if !u.in.External {
		return u.settle(ctx)
	}
	may, err := instance.LookAtOwner(ctx, u.at, u.in, u.board, claimOf(u))
	if err != nil {
		return err
	}
	if may.Asked() {
		err = instance.TakeBoard(ctx, u.at, u.in, u.board, may, u.mark.ID)
	}
	if err == nil {
		err = settleOwned(ctx, u)
	}
	if err == nil && !may.Asked() {
		err = instance.TakeBoard(ctx, u.at, u.in, u.board, may, "")
	}
	return err
}

// settleOwned is settle. A board with another mark may be one that was taken meanwhile.
func settleOwned(ctx context.Context, u *upRun) error {
	err := u.settle(ctx)
	if errors.Is(err, blackboard.ErrLost) {
		return cmp.Or(takenMeanwhile(ctx, u), err)
	}
	return err
}

// takenMeanwhile returns the error about a board that another workspace took during this up;
// nil: none did, as far as the board tells in a moment.
func takenMeanwhile(ctx context.Context, u *upRun) error {
	if u.board == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), gateTime)
	defer cancel()
	err := instance.TakenMeanwhile(ctx, u.at, u.in, u.board, claimOf(u))
	if !instance.IsOwned(err) {
		return nil
	}
	return err
}
