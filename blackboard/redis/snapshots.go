package redis

import (
	"context"

	"github.com/redis/rueidis"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Snapshots reads claims with their bids and grants, some hundreds in a round
// trip, in the order of the ids. There is an error for each that is missing or
// corrupt.
func (b Records) Snapshots(ctx context.Context, ids []string) ([]blackboard.Snapshot, []error, error) {
	out, each := make([]blackboard.Snapshot, len(ids)), make([]error, len(ids))
	err := b.c.Each(ctx, "read claims", ids, b.c.ClaimReads, func(i int, res []rueidis.RedisResult) (err error) {
		out[i], each[i], err = decodeSnapshot(ids[i], res)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	return out, each, nil
}

// decodeSnapshot tells a fault of the record from one of the connection.
func decodeSnapshot(id string, res []rueidis.RedisResult) (s blackboard.Snapshot, broken, err error) {
	hash, err := res[0].AsStrMap()
	if err != nil {
		return s, nil, err
	}
	bids, err := res[1].AsStrMap()
	if err != nil {
		return s, nil, err
	}
	record := store.ReadClaim(id, hash)
	if s.Claim, broken = store.DecodeClaim(id, record.Fields); broken != nil {
		return s, broken, nil
	}
	s.Bids = record.Bids(bids)
	s.Grants, broken = record.DecodeGrants(id)
	return s, broken, nil
}
