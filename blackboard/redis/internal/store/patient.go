package store

import (
	"context"
	"time"

	"github.com/redis/rueidis"
)

// patience bounds one call of an export or import.
const patience = time.Minute

// Patient returns the same board for exports and imports, whose calls may take longer
// than a person waits.
func (c *Conn) Patient() *Conn {
	p := &Conn{Addr: c.Addr, set: c.set, Options: c.Options, Client: patientClient{c.Client}, Keys: c.Keys}
	p.Options.Timeout = max(patience, c.Options.Timeout)
	p.Share.Client = p.Client
	p.opened.Store(c.opened.Load())
	return p
}

// patientClient waits for its answers as long as the context says. A client gives up
// a connection that is silent for its ConnWriteTimeout, which bounds every call but
// those that block; so each one begins with a PING that is said to.
type patientClient struct{ rueidis.Client }

// Do sends a command behind a PING.
func (c patientClient) Do(ctx context.Context, cmd rueidis.Completed) rueidis.RedisResult {
	return c.DoMulti(ctx, cmd)[0]
}

// DoMulti sends commands behind a PING.
func (c patientClient) DoMulti(ctx context.Context, multi ...rueidis.Completed) []rueidis.RedisResult {
	if len(multi) == 0 {
		return nil
	}
	ping := c.B().Arbitrary("PING").Blocking()
	return c.Client.DoMulti(ctx, append(rueidis.Commands{ping}, multi...)...)[1:]
}
