package redis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Channel is something to listen to.
type Channel struct {
	id   string
	name func(store.Keys) string
}

// Is says whether both are the same channel.
func (c Channel) Is(other Channel) bool { return c.id == other.id }

// The channels of an instance. Their messages are ids: hints that something may
// have to be done, never the thing itself.
var (
	ArtefactEvents     = Channel{"artefact", store.Keys.ArtefactEvents}         // an artefact was stored
	ClaimEvents        = Channel{"claim", store.Keys.ClaimEvents}               // a claim was opened: bid
	ClaimTargets       = Channel{"target", store.Keys.ClaimTargets}             // the same, with the facts for a bid by rule; see ParseTarget
	OrchestratorEvents = Channel{"orchestrator", store.Keys.OrchestratorEvents} // something to decide; see ParseMatter
)

// AgentEvents is the channel of one agent: a grant to it was queued or cancelled.
func AgentEvents(agent string) Channel {
	return Channel{"agent " + agent, func(k store.Keys) string { return k.AgentEvents(agent) }}
}

// MaxNotice is the longest notice that is looked at, in bytes. Most are an id; the
// longest Sett sends is that of ClaimTargets.
const MaxNotice = 256

// Subscribe listens until the context ends, and through every reconnect. After
// each (re)connection, when it is certain that from now on notices come in, it
// calls ready: the listener must then read its open work, because earlier notices
// are gone. notice is called with the id, one call after another.
// lost is told about every interruption: its error wraps blackboard.ErrUnavailable, unless the user may not
// listen, though the blackboard may be there.
func (b *Board) Subscribe(ctx context.Context, channels []Channel, ready func(), notice func(ch Channel, id string), lost func(error)) error {
	names := make([]string, len(channels))
	byName := make(map[string]Channel, len(channels))
	for i, ch := range channels {
		names[i] = ch.name(b.c.Keys)
		byName[names[i]] = ch
	}
	wait := b.c.Options.Backoff
	for ctx.Err() == nil {
		began := time.Now()
		err := b.listen(ctx, names, ready, func(m rueidis.PubSubMessage) {
			if len(m.Message) <= MaxNotice {
				notice(byName[m.Channel], strings.Clone(m.Message))
			}
		})
		if ctx.Err() != nil {
			break
		}
		if denied := store.Denied(b.c, err); denied != nil && !denied.Login {
			lost(fmt.Errorf("subscribe: %w", denied))
		} else {
			lost(fmt.Errorf("subscribe: %w: %s: %w", blackboard.ErrUnavailable, b.c.Addr, err))
		}
		if time.Since(began) > store.MaxBackoff {
			wait = b.c.Options.Backoff
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, store.MaxBackoff)
		}
	}
	return ctx.Err()
}

// listen holds one subscription until it breaks.
func (b *Board) listen(ctx context.Context, names []string, ready func(), message func(rueidis.PubSubMessage)) error {
	conn, cancel := b.c.Client.Dedicate()
	defer cancel()
	defer conn.Close() // or the pool hands the broken connection out again
	timeout, stop := context.WithTimeout(ctx, b.c.Options.Timeout)
	defer stop()
	if err := b.c.Home(timeout, conn); err != nil {
		return err
	}
	confirmed := 0
	broken := conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: message,
		OnSubscription: func(s rueidis.PubSubSubscription) {
			if confirmed++; s.Kind == "subscribe" && confirmed == len(names) {
				ready()
			}
		},
	})
	if err := conn.Do(timeout, conn.B().Subscribe().Channel(names...).Build()).Error(); err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-broken:
		if err == nil {
			err = fmt.Errorf("connection closed")
		}
		return err
	}
}

// Nudge tells the orchestrator that something about the instance changed, such as
// its configuration. Where the user may not publish, the orchestrator's next look finds that.
func (b *Board) Nudge(ctx context.Context) error {
	_, err := b.c.AskHome(ctx, "nudge", "PUBLISH", b.c.Keys.OrchestratorEvents(), "")
	if denied := store.Denied(b.c, err); denied != nil && !denied.Login {
		return nil
	}
	return err
}
