package redis

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// patience is what one call may take of who moves much at a time.
const patience = time.Minute

// patient is the same board for exports and imports, whose calls may take longer
// than those of who waits for an answer.
func (b *Board) patient() *Board {
	p := &Board{o: b.o, client: patientClient{b.client}, keys: b.keys, scripts: b.scripts}
	p.o.Timeout = max(patience, b.o.Timeout)
	p.share.client = p.client
	return p
}

// patientClient waits for its answers as long as the context says. A client gives up
// a connection that is silent for its ConnWriteTimeout, which bounds every call but
// those that block; so each one begins with a PING that is said to.
type patientClient struct{ rueidis.Client }

func (c patientClient) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return c.DoMulti(ctx, cmd)[0]
}

func (c patientClient) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	if len(multi) == 0 {
		return nil
	}
	ping := c.B().Arbitrary("PING").Blocking()
	return c.Client.DoMulti(ctx, append(rueidis.Commands{ping}, multi...)...)[1:]
}
