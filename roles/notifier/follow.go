package notifier

import (
	"context"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// follow tells of everything in the ledger after what was told before.
func (n *notifier) follow(ctx context.Context) error {
	var from string
	err := n.patiently(ctx, func() (err error) {
		from, err = n.begin(ctx)
		return err
	})
	if err != nil {
		return err
	}
	n.log.Info("following the ledger", "position", from)
	return n.board.Follow(ctx, from, func(e blackboard.Event) error {
		return n.entry(ctx, e)
	}, func(err error) {
		n.log.Warn("blackboard lost, reconnecting", "error", err)
	})
}

// begin returns where to go on. The first start since sett.yml has asked for a
// notifier begins a little in the past, since what the clan did while it was being
// started is news, and what happened long before anybody wanted to be told is not.
func (n *notifier) begin(ctx context.Context) (string, error) {
	at, err := n.board.Notified(ctx)
	if err != nil || at != "" {
		return at, err
	}
	now, err := n.board.ServerTime(ctx)
	if err != nil {
		return "", err
	}
	at = redis.PositionAt(now.Add(-n.pace.window))
	return at, n.board.SetNotified(ctx, at)
}

// entry tells of one entry, if there is anything to tell, and remembers that. An
// error ends the notifier.
func (n *notifier) entry(ctx context.Context, e blackboard.Event) error {
	m, ok := matterOf(e)
	if !ok {
		if n.passed++; n.passed < n.pace.stride {
			return nil
		}
		return n.remember(ctx, e.ID)
	}
	log := n.log.With("event", m.kind, "workflow", e.Workflow, "artefact", m.artefact, "position", e.ID)
	var v event
	err := n.patiently(ctx, func() (err error) {
		v, err = n.describe(ctx, e, m)
		return err
	})
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // a record that cannot be read must not be in the way of others
		log.Error("event not told: it cannot be read", "error", err)
	default:
		if told := n.tell(ctx, log, v); !told {
			return ctx.Err()
		}
	}
	return n.remember(ctx, e.ID)
}

// remember stores up to where people were told, also when the notifier has just
// been told to stop.
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

// patiently makes a call again and again while the blackboard is away.
func (n *notifier) patiently(ctx context.Context, call func() error) error {
	return n.reachable.Patiently(ctx, n.log, n.env.Hurry, call)
}
