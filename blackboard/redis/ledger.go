package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Ledger reads the entries of the ledger, and keeps the position up to which
// people have been notified.
type Ledger struct{ c *store.Conn }

// Last returns the position of the ledger's last entry.
func (b Ledger) Last(ctx context.Context) (string, error) { return b.c.Last(ctx) }

// Removed returns how many entries are gone from the ledger, which only grows; nil: none, as far as the server tells.
func (b Ledger) Removed(ctx context.Context) (*blackboard.RemovedError, error) {
	return store.Removed(ctx, b.c)
}

// History returns up to count entries after a position, oldest first.
func (b Ledger) History(ctx context.Context, after string, count int64) ([]blackboard.Event, error) {
	es, err := b.c.Entries(ctx, after, "+", count)
	if err != nil {
		return nil, err
	}
	es = es[:min(int64(len(es)), count)]
	out := make([]blackboard.Event, len(es))
	for i, e := range es {
		out[i] = decodeEvent(e.ID, e.FieldValues)
	}
	return out, nil
}

// Follow delivers every entry after a position, past ones and then those that
// come, in order, each once, through every reconnect, until the context ends or
// f returns an error, which it returns. lost is told about interruptions.
func (b Ledger) Follow(ctx context.Context, after string, f func(blackboard.Event) error, lost func(error)) error {
	wait := b.c.Options.Backoff
	for ctx.Err() == nil {
		es, err := b.nextEntries(ctx, after)
		if err != nil {
			if ctx.Err() != nil {
				break
			}
			lost(err)
			select {
			case <-ctx.Done():
			case <-time.After(wait):
				wait = min(2*wait, store.MaxBackoff)
			}
			continue
		}
		wait = b.c.Options.Backoff
		for _, e := range es {
			if err := f(decodeEvent(e.ID, e.FieldValues)); err != nil {
				return err
			}
			after = e.ID
		}
	}
	return ctx.Err()
}

// block is how long one read waits for entries on the server.
const block = 20 * time.Second

func (b Ledger) nextEntries(ctx context.Context, after string) ([]rueidis.XRangeEntry, error) {
	conn, release := b.c.Client.Dedicate()
	defer release()
	defer context.AfterFunc(ctx, conn.Close)() // a read that waits on the server ends no other way
	ctx, cancel := context.WithTimeout(ctx, block+b.c.Options.Timeout)
	defer cancel()
	cmd := b.c.Client.B().Xread().Count(500).Block(block.Milliseconds()).Streams().Key(b.c.Keys.Events()).Id(after).Build()
	streams, err := conn.Do(ctx, cmd).AsXRead()
	if err != nil {
		if rueidis.IsRedisNil(err) {
			return nil, nil
		}
		conn.Close()
		return nil, errors.Join(blackboard.ErrUnavailable, err)
	}
	return store.Unfold(streams[b.c.Keys.Events()], after), nil
}

// decodeEvent takes the entry's known fields and keeps the rest as attributes.
func decodeEvent(id string, fields map[string]string) blackboard.Event {
	ms, _ := strconv.ParseInt(strings.SplitN(id, "-", 2)[0], 10, 64)
	e := blackboard.Event{ID: id, Time: time.UnixMilli(ms).UTC()}
	known := map[string]*string{
		"kind": (*string)(&e.Kind), "workflow": &e.Workflow, "claim": &e.Claim, "artefact": &e.Artefact,
		"agent": &e.Agent, "phase": &e.Phase, "from": &e.From, "to": &e.To, "reason": &e.Reason,
	}
	for f, v := range fields {
		if p, ok := known[f]; ok {
			*p = v
		} else if v != "" {
			if e.Attributes == nil {
				e.Attributes = map[string]string{}
			}
			e.Attributes[f] = v
		}
	}
	return e
}
