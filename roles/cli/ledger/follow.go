package ledger

import (
	"context"
	"errors"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"strings"
	"sync/atomic"
	"time"

	"sett/blackboard"
	"sett/roles/role"
)

// Follower follows the ledger and prints none of it. While the blackboard is
// away it goes on, with a message on stderr.
type Follower struct {
	on    *term.Terminal
	board *instance.Board
	lost  atomic.Bool
	told  atomic.Bool // that the blackboard refuses its user
}

// NewFollower returns a follower that reports interruptions on the terminal.
func NewFollower(on *term.Terminal, b *instance.Board) *Follower { return &Follower{on: on, board: b} }

// Follow hands on every entry after a position, until the context ends or each
// returns an error.
func (f *Follower) Follow(ctx context.Context, from string, each func(blackboard.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := func(err error) { f.gone(ctx, err) }
	// A read that waits for entries outlasts short interruptions in silence, and
	// the end of its context for a while. The subscription notices both at once.
	go f.board.Watch(ctx, f.back, gone)
	ended := make(chan error, 1)
	go func() {
		ended <- f.board.Ledger.Follow(ctx, from, func(e blackboard.Event) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return each(e)
		}, gone)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// gone reports that the blackboard is lost, and that it answers and refuses its user; back that it has
// returned; once each.
func (f *Follower) gone(ctx context.Context, err error) {
	denied := (*blackboard.DeniedError)(nil)
	refused := errors.As(err, &denied) && !f.told.Swap(true)
	if lost := f.lost.Swap(true); ctx.Err() == nil && (!lost || refused) {
		f.on.Sayf("sett: blackboard lost, waiting for it: %s\n", role.Clean(strings.ReplaceAll(err.Error(), "\n", ": ")))
	}
}

func (f *Follower) back() {
	f.told.Store(false)
	if f.lost.Swap(false) {
		f.on.Sayf("sett: blackboard is back\n")
	}
}

// Patiently repeats a read while the blackboard is away: a command that waits for a
// goal does not give up for that.
func Patiently(ctx context.Context, read func() error) error {
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
