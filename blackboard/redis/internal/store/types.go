package store

import (
	"context"
	"errors"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// KeyType is a key and the type that Sett gives it, as Redis calls it.
type KeyType struct{ Key, Kind string }

// KeyTypes are the keys of which an instance has one each, and their types. Those of single records are not among them: there
// is no bound to them.
func KeyTypes(k Keys) []KeyType {
	return []KeyType{
		{k.Events(), "stream"}, {k.Instance(), "hash"}, {k.Leader(), "string"}, {k.Epoch(), "string"}, {k.Agents(), "hash"},
		{k.Artefacts(), "list"}, {k.Unclaimed(), "zset"}, {k.Claims(), "list"}, {k.OpenClaims(), "zset"}, {k.SuspendedClaims(), "zset"},
		{k.ActiveWorkflows(), "zset"}, {k.Questions(), "zset"}, {k.Gates(), "zset"}, {k.Landings(), "zset"}, {k.Running(), "hash"},
		{k.Workspace(), "hash"}, {k.PendingCalls(), "hash"}, {k.Courses(), "hash"}, {k.Notified(), "string"}, {confirmedKey(k), "string"},
	}
}

// foreign returns the server's answer that a key has another type as an error of its own, which names the key where it is
// one of those that each instance has; nil: the error is another one.
func foreign(ctx context.Context, c *Conn, err error) *blackboard.KeyTypeError {
	var re *rueidis.RedisError
	if known := (*blackboard.KeyTypeError)(nil); !errors.As(err, &re) || code(re.Error()) != "WRONGTYPE" || errors.As(err, &known) {
		return nil
	}
	if c.Client != nil {
		if wrong := Foreign(ctx, c); wrong != nil {
			wrong.Err = re
			return wrong
		}
	}
	return &blackboard.KeyTypeError{Addr: addrOf(c), Err: re}
}

// Foreign asks for the types of the keys that each instance has, once; nil: they are Sett's, as far as the server tells.
func Foreign(ctx context.Context, c *Conn) *blackboard.KeyTypeError {
	ctx, cancel := context.WithTimeout(ctx, c.Options.Timeout)
	defer cancel()
	all := KeyTypes(c.Keys)
	cmds := make(rueidis.Commands, len(all))
	for i, one := range all {
		cmds[i] = c.Client.B().Type().Key(one.Key).Build()
	}
	for i, res := range c.Client.DoMulti(ctx, cmds...) {
		if has, err := res.ToString(); err == nil && has != "none" && has != all[i].Kind {
			return &blackboard.KeyTypeError{Addr: addrOf(c), Key: all[i].Key, Has: has, Want: all[i].Kind}
		}
	}
	return nil
}
