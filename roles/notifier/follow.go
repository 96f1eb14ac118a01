package notifier

import (
	"context"

	"sett/blackboard"
)

// follow tells the events of the ledger from the stored position on.
func (n *notifier) follow(ctx context.Context) error {
	var from string
	err := n.patiently(ctx, func() (err error) {
		from, err = n.begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := n.patiently(ctx, func() error { return n.introduce(ctx) }); err != nil {
		return err
	}
	n.log.Info("following the ledger", "position", from)
	return n.board.Follow(ctx, from, func(e blackboard.Event) error {
		return n.entry(ctx, e)
	}, func(err error) {
		n.log.Warn("blackboard lost, reconnecting", "error", err)
	})
}

// begin returns the position to go on from. The first start since sett.yml has a
// notifier begins a little in the past: events of the clan's start are news, events
// from long before the notifier are not, nor those that one of before told.
func (n *notifier) begin(ctx context.Context) (string, error) {
	at, err := n.board.Notified(ctx)
	if err != nil || at != "" {
		return at, err
	}
	now, err := n.board.serverTime(ctx)
	if err != nil {
		return "", err
	}
	before, err := n.board.Notifier(ctx)
	if err != nil {
		return "", err
	}
	at = blackboard.PositionAt(now.Add(-n.pace.window))
	if blackboard.IsAfter(before.Told, at) {
		at = before.Told
	}
	return at, n.board.SetNotified(ctx, at)
}

// entry tells the event of one entry, if it has one, and stores the position. An error
// ends the notifier.
func (n *notifier) entry(ctx context.Context, e blackboard.Event) error {
	a, ok := alertOf(e)
	if !ok {
		if n.passed++; n.passed < n.pace.stride {
			return nil
		}
		return n.remember(ctx, e.ID)
	}
	if err := n.tell(ctx, e, a); err != nil {
		return err
	}
	return n.remember(ctx, e.ID)
}

// remember stores the position of the last event, also when the notifier has just been
// told to stop.
func (n *notifier) remember(ctx context.Context, position string) error {
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.settings.Redis.Timeout)
	defer cancel()
	err := n.board.SetNotified(last, position)
	if err != nil {
		err = n.patiently(ctx, func() error { return n.board.SetNotified(ctx, position) })
	}
	if err == nil {
		n.passed = 0
	}
	return err
}

// patiently repeats a call while the blackboard is away.
func (n *notifier) patiently(ctx context.Context, call func() error) error {
	return n.reachable.Patiently(ctx, n.log, n.env.Hurry, call)
}
