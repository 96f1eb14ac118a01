package redis

import (
	"context"
	"fmt"
	"regexp"
	"sync"

	"github.com/redis/rueidis"
)

// position is what a position in the ledger looks like.
var position = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]{1,20}-[0-9]{1,20}$`) })

// Notified returns the position in the ledger up to which people have been told
// what happened; "" when nobody ever was, or when what is stored is no position.
func (b *Board) Notified(ctx context.Context) (string, error) {
	var at string
	err := b.retry(ctx, "read notified", func(ctx context.Context) (err error) {
		at, err = b.client.Do(ctx, b.client.B().Get().Key(b.keys.notified()).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			at, err = "", nil
		}
		return err
	})
	if err != nil || !position().MatchString(at) {
		return "", err
	}
	return at, nil
}

// SetNotified stores that position. It is the one thing that the notifier writes,
// and nobody else does while it runs, so that it takes no script to write it.
func (b *Board) SetNotified(ctx context.Context, at string) error {
	if !position().MatchString(at) {
		return fmt.Errorf("store notified: %q is no position in the ledger", at)
	}
	return b.retry(ctx, "store notified", func(ctx context.Context) error {
		return b.client.Do(ctx, b.client.B().Set().Key(b.keys.notified()).Value(at).Build()).Error()
	})
}

// ForgetNotified removes that position: who is told from then on is told of what is
// recent, as at the very first start.
func (b *Board) ForgetNotified(ctx context.Context) error {
	return b.retry(ctx, "forget notified", func(ctx context.Context) error {
		return b.client.Do(ctx, b.client.B().Del().Key(b.keys.notified()).Build()).Error()
	})
}

// WaitsForHuman says whether the artefact is a Question that nobody has answered
// yet, or is held by a gate.
func (b *Board) WaitsForHuman(ctx context.Context, artefactID string) (bool, error) {
	var waits bool
	err := b.retry(ctx, "read what is open", func(ctx context.Context) error {
		waits = false
		for _, res := range b.client.DoMulti(ctx,
			b.client.B().Zscore().Key(b.keys.questions()).Member(artefactID).Build(),
			b.client.B().Zscore().Key(b.keys.gates()).Member(artefactID).Build()) {
			if err := res.Error(); err == nil {
				waits = true
			} else if !rueidis.IsRedisNil(err) {
				return err
			}
		}
		return nil
	})
	return waits, err
}
