package redis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Channel is something to listen to.
type Channel struct {
	id   string
	name func(keys) string
}

// Is says whether both are the same channel.
func (c Channel) Is(other Channel) bool { return c.id == other.id }

// The channels of an instance. Their messages are ids: hints that something may
// have to be done, never the thing itself.
var (
	ArtefactEvents     = Channel{"artefact", keys.artefactEvents}         // an artefact was stored
	ClaimEvents        = Channel{"claim", keys.claimEvents}               // a claim was opened: bid
	ClaimTargets       = Channel{"target", keys.claimTargets}             // the same, with what is needed to bid by rule; see ParseTarget
	OrchestratorEvents = Channel{"orchestrator", keys.orchestratorEvents} // something to decide; see ParseMatter
)

// AgentEvents is the channel of one agent: a grant to it was queued or cancelled.
func AgentEvents(agent string) Channel {
	return Channel{"agent " + agent, func(k keys) string { return k.agentEvents(agent) }}
}

// MaxNotice is the longest notice that is looked at, in bytes. Most are an id; the
// longest Sett sends is that of ClaimTargets.
const MaxNotice = 256

// ParseTarget reads a notice of ClaimTargets: a claim and what its target is.
func ParseTarget(notice string) (claim string, t blackboard.Target, ok bool) {
	parts := strings.SplitN(notice, " ", 3)
	if len(parts) != 3 || !blackboard.ValidID(parts[0]) || parts[2] == "" {
		return "", t, false
	}
	return parts[0], blackboard.Target{Agent: parts[1], Type: parts[2]}, true
}

// Subscribe listens until the context ends, and through every reconnect. After
// each (re)connection, when it is certain that from now on notices come in, it
// calls ready: the listener must then read what is open, because notices sent
// before are gone. notice is called with the id, one call after another.
// lost is told about every interruption.
func (b *Board) Subscribe(ctx context.Context, channels []Channel, ready func(), notice func(ch Channel, id string), lost func(error)) error {
	names := make([]string, len(channels))
	byName := make(map[string]Channel, len(channels))
	for i, ch := range channels {
		names[i] = ch.name(b.keys)
		byName[names[i]] = ch
	}
	wait := b.o.Backoff
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
		lost(fmt.Errorf("subscribe: %w: %s: %w", blackboard.ErrUnavailable, b.o.addr, err))
		if time.Since(began) > maxBackoff {
			wait = b.o.Backoff
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
			wait = min(2*wait, maxBackoff)
		}
	}
	return ctx.Err()
}

// listen holds one subscription until it breaks.
func (b *Board) listen(ctx context.Context, names []string, ready func(), message func(rueidis.PubSubMessage)) error {
	conn, cancel := b.client.Dedicate()
	defer cancel()
	defer conn.Close() // or the pool hands the broken connection out again
	confirmed := 0
	broken := conn.SetPubSubHooks(rueidis.PubSubHooks{
		OnMessage: message,
		OnSubscription: func(s rueidis.PubSubSubscription) {
			if confirmed++; s.Kind == "subscribe" && confirmed == len(names) {
				ready()
			}
		},
	})
	timeout, stop := context.WithTimeout(ctx, b.o.Timeout)
	defer stop()
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
// its configuration.
func (b *Board) Nudge(ctx context.Context) error {
	return b.retry(ctx, "nudge", func(ctx context.Context) error {
		return b.client.Do(ctx, b.client.B().Publish().Channel(b.keys.orchestratorEvents()).Message("").Build()).Error()
	})
}
