package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Beginning is the position before the ledger's first entry.
const Beginning = "0-0"

// PositionAt returns the position in the ledger just before a time.
func PositionAt(t time.Time) string {
	if t.UnixMilli() <= 0 {
		return Beginning
	}
	return strconv.FormatInt(t.UnixMilli()-1, 10) + "-18446744073709551615"
}

// Last returns the position of the ledger's last entry.
func (b *Board) Last(ctx context.Context) (string, error) {
	last := Beginning
	err := b.retry(ctx, "read ledger", func(ctx context.Context) error {
		es, err := b.client.Do(ctx, b.client.B().Xrevrange().Key(b.keys.events()).End("+").Start("-").Count(1).Build()).AsXRange()
		if err == nil && len(es) > 0 {
			last = es[0].ID
		}
		return err
	})
	return last, err
}

// History returns up to count entries after a position, oldest first.
func (b *Board) History(ctx context.Context, after string, count int64) ([]blackboard.Event, error) {
	var out []blackboard.Event
	err := b.retry(ctx, "read ledger", func(ctx context.Context) error {
		es, err := b.client.Do(ctx, b.client.B().Xrange().Key(b.keys.events()).Start("("+after).End("+").Count(count).Build()).AsXRange()
		if err != nil {
			return err
		}
		out = make([]blackboard.Event, len(es))
		for i, e := range es {
			out[i] = decodeEvent(e.ID, e.FieldValues)
		}
		return nil
	})
	return out, err
}

// Follow delivers every entry after a position, past ones and then those that
// come, in order, each once, through every reconnect, until the context ends or
// f returns an error, which it returns. lost is told about interruptions.
func (b *Board) Follow(ctx context.Context, after string, f func(blackboard.Event) error, lost func(error)) error {
	wait := b.o.Backoff
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
				wait = min(2*wait, maxBackoff)
			}
			continue
		}
		wait = b.o.Backoff
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

func (b *Board) nextEntries(ctx context.Context, after string) ([]rueidis.XRangeEntry, error) {
	conn, release := b.client.Dedicate()
	defer release()
	defer context.AfterFunc(ctx, conn.Close)() // a read that waits on the server ends no other way
	ctx, cancel := context.WithTimeout(ctx, block+b.o.Timeout)
	defer cancel()
	cmd := b.client.B().Xread().Count(500).Block(block.Milliseconds()).Streams().Key(b.keys.events()).Id(after).Build()
	streams, err := conn.Do(ctx, cmd).AsXRead()
	if err != nil {
		if rueidis.IsRedisNil(err) {
			return nil, nil
		}
		conn.Close()
		return nil, errors.Join(blackboard.ErrUnavailable, err)
	}
	return streams[b.keys.events()], nil
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
