package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// relied are the moves that somebody relies on when they are acknowledged: a person, an
// agent that hands in a result, and the leader, whose sight of the ledger no later one
// may fall behind. Where a server demands replicas (min-replicas-to-write), such a move is
// acknowledged when they have it. The server alone only demands that so many were
// there a moment ago, so a failover could lose the move.
//
// All other moves are decided anew from the records that are there.
var relied = map[string]bool{
	"goal": true, "answer": true, "approve": true, "reject": true, "review": true, "cancel": true, "cancel_goal": true, "retry": true, "retry_goal": true,
	"raise_budget": true, "pause_models": true, "landed": true, "import_finish": true, "finish": true, "lead": true, "renew": true, "settle": true,
}

// Spread says whether other servers may take the place of the one that has the instance:
// those of a cluster, or that Sentinels watch.
func (c *Conn) Spread() bool { return c.Client.Mode() != rueidis.ClientModeStandalone }

// Demanding is a fact that a server tells of its replicas if it demands some.
const Demanding = "min_slaves_good_slaves"

// errUnconfirmed passes: the move is repeated, which is harmless, and confirmed then.
var errUnconfirmed error = unconfirmed{}

// unconfirmed is an ErrUnavailable in words of its own: the server is there.
type unconfirmed struct{}

func (unconfirmed) Error() string { return "the replicas have not confirmed the write" }
func (unconfirmed) Unwrap() error { return blackboard.ErrUnavailable }

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

// awaitReplica returns when every replica that may take the server's place has all that
// the server has, if the server demands replicas. It writes before: a repeated move has
// written nothing itself.
//
// One replica's word would not do. Sentinels choose the replica with the longest copy, by
// facts that they ask for every ten seconds, and the nodes of a cluster choose alike: another
// one may look longer than the one with the move. So all replicas that are connected
// confirm, and one that was heard of within that time, and is not connected now, has to be back.
func (c *Conn) awaitReplica(ctx context.Context, conn rueidis.DedicatedClient) error {
	b, key := c.Client.B(), confirmedKey(c.Keys)
	said := conn.DoMulti(ctx, b.Get().Key(key).Build(), b.Info().Section("replication").Build(), b.Time().Build())
	known, err := said[0].ToString()
	if err != nil && !rueidis.IsRedisNil(err) {
		return err
	}
	facts, err := said[1].ToString()
	if err != nil {
		return allowed(err)
	}
	now, err := said[2].AsStrSlice()
	if err != nil {
		return err
	}
	heard := hearOf(known, facts, now)
	need := 0
	if strings.Contains(facts, Demanding) {
		if missing := heard.missing(); missing != "" {
			return fmt.Errorf("%w: replica %s was there a moment ago, and may become the master", errUnconfirmed, missing)
		}
		need = max(1, len(heard.connected))
	}
	set := b.Set().Key(key).Value(heard.String()).Build()
	if need == 0 {
		return conn.Do(ctx, set).Error()
	}
	said = conn.DoMulti(ctx, set, b.Wait().Numreplicas(int64(need)).Timeout(c.Options.Timeout.Milliseconds()/2).Build())
	if err := said[0].Error(); err != nil {
		return err
	}
	n, err := said[1].AsInt64()
	if err == nil && n < int64(need) {
		facts, err = conn.Do(ctx, b.Info().Section("replication").Build()).ToString()
		if last := hindmost(facts, need-int(n)); err == nil && last != "" {
			return fmt.Errorf("%w: not %s", errUnconfirmed, last)
		}
		return errUnconfirmed
	}
	return allowed(err)
}
