// Package redis is the blackboard in Redis: the only package that talks to it.
// Every change is one Lua script under lua/, so that it happens whole or not at
// all; every script may be repeated. State is truth and messages are hints: see
// Subscribe for the duty of a listener that missed some.
//
// It decides nothing: grants are the orchestrator's decision.
package redis

import (
	"context"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Options are the address of a server and the bounds of a call.
type Options = store.Options

// Overruns say what to do about a script without an end.
type Overruns = store.Overruns

// Redact returns a URL without its password.
func Redact(url string) string { return store.Redact(url) }

// RefusesLogin says that a server answered, and takes neither the user nor the password.
func RefusesLogin(err error) bool { return store.RefusesLogin(err) }

// Refusal is the kind of a server's refusal, or of ours to trust it.
type Refusal = store.Refusal

// The refusals, as the store names them.
const (
	RefusedNothing   = store.RefusedNothing
	RefusedLogin     = store.RefusedLogin
	RefusedRight     = store.RefusedRight
	RefusedCAFile    = store.RefusedCAFile
	RefusedAuthority = store.RefusedAuthority
	RefusedName      = store.RefusedName
	RefusedDate      = store.RefusedDate
	RefusedOther     = store.RefusedOther
	RefusedPlain     = store.RefusedPlain
	RefusedTLS       = store.RefusedTLS
	RefusedClient    = store.RefusedClient
	RefusedClients   = store.RefusedClients
)

// RefusalOf says which refusal an error is about.
func RefusalOf(err error) Refusal { return store.RefusalOf(err) }

// Board is the blackboard of one instance, in parts for its users. It is safe for
// concurrent use, as each part is.
type Board struct {
	Records Records // artefacts, claims, grants and workflows by id
	Index   Index   // the ids of those that exist, are open or belong together
	Ledger  Ledger  // the entries of the ledger
	Roster  Roster  // agents, workers, the leader and the workspace's users
	Cub     Cub     // the moves of an agent
	Leader  Leader  // the decisions of the orchestrator that leads
	People  People  // the moves of people
	Calls   Calls   // the calls of models

	c *store.Conn
}

// Open connects. When Redis does not answer within the bounds of the options, the
// error wraps blackboard.ErrUnavailable and names the address.
func Open(ctx context.Context, o store.Options) (*Board, error) {
	c, err := store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return boardOn(c), nil
}

func boardOn(c *store.Conn) *Board {
	return &Board{Records{c}, Index{c}, Ledger{c}, Roster{c}, Cub{c}, Leader{c}, People{c}, Calls{c}, c}
}

// Conn returns the connection, for the packages below this one.
func (b *Board) Conn() *store.Conn { return b.c }

// Instance returns the name of the instance.
func (b *Board) Instance() string { return b.c.Options.Instance }

// Addr returns the server's address.
func (b *Board) Addr() string { return b.c.Addr }

// Close ends all connections. Calls under way fail.
func (b *Board) Close() { b.c.Client.Close() }

// Refusal returns the server's refusal to take writes; nil: it takes them.
func (b *Board) Refusal(ctx context.Context) (*blackboard.NoWritesError, error) {
	_, err := b.c.Once(ctx, "probe")
	if refusal := b.c.NoWrites(err); refusal != nil {
		return refusal, nil
	}
	return nil, err
}

// Foreign returns the first key of the instance that has another type than Sett gives it; nil: none has, as far as the
// server tells.
func (b *Board) Foreign(ctx context.Context) *blackboard.KeyTypeError { return store.Foreign(ctx, b.c) }

// Ping says whether Redis answers now; it does not retry.
func (b *Board) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, b.c.Options.Timeout)
	defer cancel()
	if err := b.c.AtHome(ctx, "PING").Error(); err != nil {
		return fmt.Errorf("ping: %w: %s: %w", blackboard.ErrUnavailable, b.c.Addr, err)
	}
	return nil
}
