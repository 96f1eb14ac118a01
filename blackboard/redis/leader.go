package redis

import (
	"context"
	"strings"
	"time"

	"github.com/redis/rueidis"
)

// Leader is who decides, or did last.
type Leader struct {
	Holder string    // empty: nobody leads, or somebody gave the lead up
	Until  time.Time // when the lease runs out unless it is renewed; compare with ServerTime
}

// Leader returns who leads. A record that cannot be read is nobody's.
func (b *Board) Leader(ctx context.Context) (Leader, error) {
	var s string
	err := b.retry(ctx, "read leader", func(ctx context.Context) (err error) {
		s, err = b.client.Do(ctx, b.client.B().Get().Key(b.keys.leader()).Build()).ToString()
		if rueidis.IsRedisNil(err) {
			s, err = "", nil
		}
		return err
	})
	holder, deadline, _ := strings.Cut(s, " ")
	until, wrong := parseMicros(deadline)
	if wrong != nil {
		return Leader{}, err
	}
	return Leader{holder, until}, err
}
