package store

import (
	"context"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Removed returns how many entries are gone from the ledger; nil: none, as far as the server tells. One before Redis 7 and
// the embedded one do not. The error is a DeniedError where the user may not ask.
func Removed(ctx context.Context, c *Conn) (*blackboard.RemovedError, error) {
	m, err := c.AskHome(ctx, "look for removed entries", "XINFO", "STREAM", c.Keys.Events())
	if denied := Denied(c, err); denied != nil {
		return nil, denied
	}
	if reply, ok := rueidis.IsRedisErr(err); ok && strings.Contains(reply.Error(), "no such key") {
		return nil, nil // nothing is in the ledger yet
	}
	if err != nil {
		return nil, err
	}
	facts, err := m.AsMap()
	if err != nil {
		return nil, err
	}
	said := facts["entries-added"]
	added, err := said.AsInt64()
	if err != nil {
		return nil, nil //nolint:nilerr // it does not tell
	}
	said = facts["length"]
	left, err := said.AsInt64()
	if err != nil || added <= left {
		return nil, err
	}
	r := &blackboard.RemovedError{Entries: added - left}
	said = facts["max-deleted-entry-id"]
	if last, err := said.ToString(); err == nil && last != blackboard.Beginning && last != "0-0" {
		r.Last = last
	}
	return r, nil
}
