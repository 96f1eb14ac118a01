package store

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/rueidis"
)

// relied are the moves that somebody relies on when they are acknowledged: a person, an
// agent that hands in a result, and the leader, whose sight of the ledger no later one
// may fall behind. Where a server demands replicas (min-replicas-to-write), such a move is
// acknowledged when one of them has it. The server alone only demands that they were
// there a moment ago, so a failover could lose the move.
//
// All other moves are decided anew from the records that are there.
var relied = map[string]bool{
	"goal": true, "answer": true, "approve": true, "reject": true, "review": true, "cancel": true, "cancel_goal": true, "retry": true,
	"import_finish": true, "finish": true, "lead": true, "renew": true, "settle": true,
}

// Spread says whether other servers may take the place of the one that has the instance:
// those of a cluster, or that Sentinels watch.
func (c *Conn) Spread() bool { return c.Client.Mode() != rueidis.ClientModeStandalone }

// Demanding is a fact that a server tells of its replicas if it demands some.
const Demanding = "min_slaves_good_slaves"

// errUnconfirmed passes: the move is repeated, which is harmless, and confirmed then.
var errUnconfirmed = errors.New("no replica has confirmed the write")

// sender sends commands together: the client, the line of calls, or one connection.
type sender interface {
	Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult
	DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult
}

// inLine is a client whose calls share round trips.
type inLine struct{ *Conn }

func (l inLine) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return l.Client.Do(ctx, cmd)
}

func (l inLine) DoMulti(ctx context.Context, cmds ...rueidis.Completed) []rueidis.RedisResult {
	return l.Share.Do(ctx, cmds...)
}

// confirmed makes moves, and returns when a replica has them if the server demands that. A
// server counts what it wrote for the same connection, so all is sent on one.
func (c *Conn) confirmed(ctx context.Context, moves []Move) ([]Reply, error) {
	conn, release := c.Client.Dedicate()
	defer release()
	out, err := c.send(ctx, conn, moves)
	if err == nil {
		err = c.awaitReplica(ctx, conn)
	}
	if _, answered := rueidis.IsRedisErr(err); err != nil && !answered {
		conn.Close() // the answer may come later
	}
	return out, err
}

// awaitReplica returns when a replica has all that the server has, if the server demands
// replicas. It writes before: a repeated move has written nothing itself.
func (c *Conn) awaitReplica(ctx context.Context, conn rueidis.DedicatedClient) error {
	b := c.Client.B()
	said := conn.DoMulti(ctx, b.Set().Key(c.Keys.Confirmed()).Value("").Build(), b.Info().Section("replication").Build())
	if err := said[0].Error(); err != nil {
		return err
	}
	facts, err := said[1].ToString()
	if err != nil || !strings.Contains(facts, Demanding) {
		return allowed(err)
	}
	n, err := conn.Do(ctx, b.Wait().Numreplicas(1).Timeout(c.Options.Timeout.Milliseconds()/2).Build()).AsInt64()
	if err == nil && n == 0 {
		return errUnconfirmed
	}
	return allowed(err)
}
