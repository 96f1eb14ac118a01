package cli

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// ledgerFollower follows the ledger and shows nothing of it. That the blackboard is gone
// for a while ends nothing; it is said on stderr.
type ledgerFollower struct {
	a     *app
	board *redis.Board
	lost  atomic.Bool
}

// follow hands on every entry after a position, until the context ends or each
// returns an error.
func (f *ledgerFollower) follow(ctx context.Context, from string, each func(blackboard.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	gone := func(err error) { f.gone(ctx, err) }
	// A read that waits for entries outlasts short interruptions in silence, and
	// the end of its context for a while. The subscription notices both at once.
	go func() {
		_ = f.board.Subscribe(ctx, []redis.Channel{redis.OrchestratorEvents}, f.back, func(redis.Channel, string) {}, gone)
	}()
	ended := make(chan error, 1)
	go func() {
		ended <- f.board.Follow(ctx, from, func(e blackboard.Event) error {
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

// gone says that the blackboard is lost, and back that it is back; once each.
func (f *ledgerFollower) gone(ctx context.Context, err error) {
	if ctx.Err() == nil && !f.lost.Swap(true) {
		f.a.sayf("sett: blackboard lost, waiting for it: %s\n", clean(strings.ReplaceAll(err.Error(), "\n", ": ")))
	}
}

func (f *ledgerFollower) back() {
	if f.lost.Swap(false) {
		f.a.sayf("sett: blackboard is back\n")
	}
}

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
