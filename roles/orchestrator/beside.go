package orchestrator

import (
	"context"
	"net"
	"net/url"
	"time"
)

const (
	// besideFor is how long a blackboard may be missing that is a container beside
	// us: sett up starts the two at the same moment.
	besideFor = 10 * time.Second
	// besideTry bounds one try. Until there is a container of that name, the engine
	// asks the machine's name servers for it, which may take their time.
	besideTry   = 250 * time.Millisecond
	besidePause = 10 * time.Millisecond
)

// awaitPort returns when something listens at the URL, or when it is not worth to
// wait longer: who connects then has an error to tell.
func awaitPort(ctx context.Context, at string) {
	u, err := url.Parse(at)
	if err != nil || u.Port() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, besideFor)
	defer cancel()
	dialer := net.Dialer{Timeout: besideTry}
	for ctx.Err() == nil {
		c, err := dialer.DialContext(ctx, "tcp", u.Host)
		if err == nil {
			_ = c.Close()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(besidePause):
		}
	}
}
