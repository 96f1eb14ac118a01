package redis

import (
	"context"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// Snapshots reads claims with their bids and grants, some hundreds in a round
// trip, in the order of the ids. There is an error for each that is missing or
// corrupt.
func (b *Board) Snapshots(ctx context.Context, ids []string) ([]blackboard.Snapshot, []error, error) {
	out, each := make([]blackboard.Snapshot, len(ids)), make([]error, len(ids))
	for from := 0; from < len(ids); from += page {
		some := ids[from:min(from+page, len(ids))]
		err := b.retry(ctx, "read claims", func(ctx context.Context) error {
			cmds := make(rueidis.Commands, 0, perSnapshot*len(some))
			for _, id := range some {
				cmds = append(cmds, b.snapshotReads(id)...)
			}
			res := b.share.do(ctx, cmds...)
			for i, id := range some {
				var err error
				out[from+i], each[from+i], err = decodeSnapshot(id, res[perSnapshot*i:perSnapshot*(i+1)])
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, nil, err
		}
	}
	return out, each, nil
}

// perSnapshot is how many commands read one claim whole.
const perSnapshot = 4

func (b *Board) snapshotReads(id string) rueidis.Commands {
	c, k := b.client.B(), b.keys
	return rueidis.Commands{
		c.Hgetall().Key(k.claim(id)).Build(), c.Hgetall().Key(k.bids(id)).Build(),
		c.Lrange().Key(k.bidOrder(id)).Start(0).Stop(-1).Build(), c.Hgetall().Key(k.grants(id)).Build(),
	}
}

// decodeSnapshot tells what is wrong with the record from what is wrong with the
// connection.
func decodeSnapshot(id string, res []rueidis.RedisResult) (s blackboard.Snapshot, broken, err error) {
	fields, err := res[0].AsStrMap()
	if err != nil {
		return s, nil, err
	}
	bids, err := res[1].AsStrMap()
	if err != nil {
		return s, nil, err
	}
	order, err := res[2].AsStrSlice()
	if err != nil {
		return s, nil, err
	}
	grants, err := res[3].AsStrMap()
	if err != nil {
		return s, nil, err
	}
	if s.Claim, broken = decodeClaim(id, fields); broken != nil {
		return s, broken, nil
	}
	s.Bids = orderBids(bids, order)
	s.Grants, broken = decodeGrants(id, grants)
	return s, broken, nil
}
