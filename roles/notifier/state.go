package notifier

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"sett/blackboard"
	"sett/roles/role"
)

// state is the notifier's word about itself on the blackboard.
type state struct {
	mu     sync.Mutex
	begun  bool                // said has the word of the notifier before
	said   blackboard.Notifier // its Untold is never changed, only replaced
	stored bool
	warned bool // that it cannot be stored
}

// introduce says that the notifier is there. An event that one of before could not tell stays
// untold until it is told.
func (n *notifier) introduce(ctx context.Context) error {
	before, err := n.board.Notifier(ctx)
	if err != nil {
		return err
	}
	n.state.mu.Lock()
	n.state.begun = true
	n.state.said = blackboard.Notifier{Untold: before.Untold}
	n.state.mu.Unlock()
	err = n.say(ctx, func(s *blackboard.Notifier) { s.Incarnation, s.Unfit = n.settings.Incarnation, n.unfit() })
	if err != nil && !errors.Is(err, blackboard.ErrUnavailable) { // people are told all the same
		n.log.Warn("state of the notifier not stored", "error", err)
		err = nil
	}
	return err
}

// say changes the notifier's word about itself. One that was not stored is, by the next call.
func (n *notifier) say(ctx context.Context, change func(*blackboard.Notifier)) error {
	n.state.mu.Lock()
	defer n.state.mu.Unlock()
	if !n.state.begun {
		return nil
	}
	before := n.state.said
	change(&n.state.said)
	if n.state.stored = n.state.stored && n.state.said == before; n.state.stored {
		return nil
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.settings.Redis.Timeout)
	defer cancel()
	err := n.board.SetNotifier(last, n.state.said)
	n.state.stored = err == nil
	return err
}

// failed says that an event was not told, and why.
func (n *notifier) failed(ctx context.Context, e blackboard.Event, a alert, cause error, givenUp bool) {
	n.mention(ctx, func(s *blackboard.Notifier) {
		u := blackboard.Untold{Since: n.env.Now().UTC()}
		if s.Untold != nil {
			u.Since = s.Untold.Since
			if s.Untold.Position == e.ID {
				u.Tries = s.Untold.Tries
			}
		}
		u.Event, u.Workflow, u.Position, u.Error, u.GivenUp = a.kind, e.Workflow, e.ID, brief(n.unpinned(cause.Error())), givenUp
		u.Tries++
		s.Untold, s.Unfit = &u, n.unfit()
	})
}

// succeeded says that an event was told.
func (n *notifier) succeeded(ctx context.Context) {
	n.mention(ctx, func(s *blackboard.Notifier) { s.Untold, s.Unfit = nil, "" })
}

// mention says something that may also be said later.
func (n *notifier) mention(ctx context.Context, change func(*blackboard.Notifier)) {
	err := n.say(ctx, change)
	n.state.mu.Lock()
	defer n.state.mu.Unlock()
	if err != nil && !n.state.warned {
		n.log.Warn("state of the notifier not stored", "error", err)
	}
	n.state.warned = err != nil
}

// unfit is the reason why the command cannot be run here; empty: none is known.
func (n *notifier) unfit() string {
	program := n.settings.Command[0]
	if err := role.Runnable(program, n.settings.Workspace); err != nil {
		return n.unpinned(fmt.Sprintf("%s cannot be run: %s", program, err))
	}
	return ""
}

// unpinned names a pinned program as sett.yml does.
func (n *notifier) unpinned(text string) string {
	if n.settings.Pin == "" {
		return text
	}
	return strings.ReplaceAll(text, n.settings.Pin+"/", "")
}
