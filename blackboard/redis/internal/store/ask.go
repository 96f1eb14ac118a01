package store

import (
	"cmp"
	"context"
	"strconv"
	"time"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Ask makes one command, again while Redis cannot be reached. A nil reply is no
// error: see IsNil of the message. Words are the command, its key and the rest.
func (c *Conn) Ask(ctx context.Context, what string, words ...string) (m rueidis.RedisMessage, err error) {
	err = c.Retry(ctx, what, func(ctx context.Context) error {
		cmd := c.Client.B().Arbitrary(words[0])
		if len(words) > 1 {
			cmd = cmd.Keys(words[1]).Args(words[2:]...)
		}
		m, err = c.Client.Do(ctx, cmd.Build()).ToMessage()
		if rueidis.IsRedisNil(err) {
			return nil
		}
		return err
	})
	return m, err
}

// AskHome is Ask for a command that names no key, and is about the server that has the
// instance. A server's operator may forbid such commands for good: that is returned at once.
func (c *Conn) AskHome(ctx context.Context, what string, words ...string) (m rueidis.RedisMessage, err error) {
	var forbidden error
	err = c.Retry(ctx, what, func(ctx context.Context) error {
		m, err = c.AtHome(ctx, words...).ToMessage()
		if denied := Denied(c, err); denied != nil && !denied.Login {
			forbidden = err
			return nil
		}
		return err
	})
	return m, cmp.Or(err, forbidden)
}

// Text makes a command that answers with one text; empty for nil.
func (c *Conn) Text(ctx context.Context, what string, words ...string) (string, error) {
	m, err := c.Ask(ctx, what, words...)
	if err != nil || m.IsNil() {
		return "", err
	}
	return m.ToString()
}

// Number makes a command that answers with a number.
func (c *Conn) Number(ctx context.Context, what string, words ...string) (int, error) {
	m, err := c.Ask(ctx, what, words...)
	if err != nil {
		return 0, err
	}
	n, err := m.ToInt64()
	return int(n), err
}

// Strings makes a command that answers with strings.
func (c *Conn) Strings(ctx context.Context, what string, words ...string) ([]string, error) {
	m, err := c.Ask(ctx, what, words...)
	if err != nil {
		return nil, err
	}
	return m.AsStrSlice()
}

// Hash reads one hash; empty when there is none.
func (c *Conn) Hash(ctx context.Context, what, key string) (map[string]string, error) {
	m, err := c.Ask(ctx, what, "HGETALL", key)
	if err != nil {
		return nil, err
	}
	return m.AsStrMap()
}

// Each makes the same reads for each id, some hundreds of ids in a round trip.
func (c *Conn) Each(ctx context.Context, what string, ids []string, reads func(id string) rueidis.Commands, each func(i int, res []rueidis.RedisResult) error) error {
	for from := 0; from < len(ids); from += Page {
		some := ids[from:min(from+Page, len(ids))]
		err := c.Retry(ctx, what, func(ctx context.Context) error {
			var cmds rueidis.Commands
			for _, id := range some {
				cmds = append(cmds, reads(id)...)
			}
			res, per := c.Share.Do(ctx, cmds...), len(cmds)/len(some)
			for i := range some {
				if err := each(from+i, res[per*i:per*(i+1)]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Hashes reads one hash for each id.
func (c *Conn) Hashes(ctx context.Context, what string, ids []string, key func(string) string, each func(int, map[string]string) error) error {
	return c.Each(ctx, what, ids, func(id string) rueidis.Commands {
		return rueidis.Commands{c.Client.B().Hgetall().Key(key(id)).Build()}
	}, func(i int, res []rueidis.RedisResult) error {
		fields, err := res[0].AsStrMap()
		if err != nil {
			return err
		}
		return each(i, fields)
	})
}

// List returns a range of an index, oldest first; negative positions count from
// its end.
func (c *Conn) List(ctx context.Context, index string, from, to int) ([]string, error) {
	return c.Strings(ctx, "read index", "LRANGE", index, strconv.Itoa(from), strconv.Itoa(to))
}

// Sorted returns the whole of an index that is a sorted set.
func (c *Conn) Sorted(ctx context.Context, index string) ([]string, error) {
	return c.Strings(ctx, "read index", "ZRANGE", index, "0", "-1")
}

// Page is the number of records that are read in one round trip.
const Page = 200

// ClaimReads returns the commands that read a claim and its bids: see ReadClaim.
func (c *Conn) ClaimReads(id string) rueidis.Commands {
	b, k := c.Client.B(), c.Keys
	return rueidis.Commands{b.Hgetall().Key(k.Claim(id)).Build(), b.Hgetall().Key(k.Bids(id)).Build()}
}

// Entries returns the events of up to count entries of the ledger after a position and up
// to another, oldest first.
func (c *Conn) Entries(ctx context.Context, after, to string, count int64) ([]rueidis.XRangeEntry, error) {
	m, err := c.Ask(ctx, "read ledger", "XRANGE", c.Keys.Events(), "("+after, to, "COUNT", strconv.FormatInt(count, 10))
	if err != nil {
		return nil, err
	}
	entries, err := m.AsXRange()
	return Unfold(entries, after), err
}

// Last returns the position of the ledger's last entry.
func (c *Conn) Last(ctx context.Context) (string, error) {
	m, err := c.Ask(ctx, "read ledger", "XREVRANGE", c.Keys.Events(), "+", "-", "COUNT", "1")
	if err != nil {
		return "", err
	}
	last, err := m.AsXRange()
	if err != nil || len(last) == 0 {
		return blackboard.Beginning, err
	}
	return last[0].ID, nil
}

// Now returns the server's time.
func (c *Conn) Now(ctx context.Context) (time.Time, error) {
	m, err := c.AskHome(ctx, "read time", "TIME")
	if err != nil {
		return time.Time{}, err
	}
	t, err := m.AsIntSlice()
	if err != nil || len(t) != 2 {
		return time.Time{}, err
	}
	return time.Unix(t[0], t[1]*1000).UTC(), nil
}
