package orchestrator

import (
	"context"
	"net"
	"net/url"
	"time"

	"sett/roles/role"
)

const (
	// portFor bounds the wait for a blackboard in a container of the instance: sett up
	// starts it and this process at the same moment.
	portFor = 10 * time.Second
	// portTry bounds one try. Until there is a container of that name, the engine asks
	// the machine's name servers for it, which may be slow.
	portTry   = 250 * time.Millisecond
	portPause = 10 * time.Millisecond
)

// awaitPort returns when something listens at the URL, or when the wait has been too
// long: the first call of the blackboard then returns the error.
func awaitPort(ctx context.Context, at string) {
	u, err := url.Parse(at)
	if err != nil || u.Port() == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, portFor)
	defer cancel()
	dialer := net.Dialer{Timeout: portTry}
	for ctx.Err() == nil {
		c, err := dialer.DialContext(ctx, "tcp", u.Host)
		if err == nil {
			_ = c.Close()
			return
		}
		role.Pause(ctx, portPause)
	}
}
