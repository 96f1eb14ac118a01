// Package blackboard is the role that serves the embedded blackboard of local
// mode: the Redis protocol on one address, from one directory. Package
// blackboard/embedded has the storage; this is its wiring.
package blackboard

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"sett/contract/env"
	"sett/roles/role"
)

const help = `Serve the blackboard of local mode.

Usage: sett blackboard

A role that sett up starts itself where there is no Redis. It speaks the Redis
protocol, and has on disk what it acknowledged: it may be killed at any moment.

Environment:
  SETT_STATE_DIR            the instance's directory; the data is in its
                            folder blackboard
  SETT_BLACKBOARD_ADDR      where to listen, such as 127.0.0.1:6380
  SETT_BLACKBOARD_PASSWORD  for clients; empty: none is needed, and the address
                            must be a loopback address
  SETT_LOG_FORMAT           json or text; default: text on a terminal
  SETT_LOG_LEVEL            debug, info (default), warn or error

Exit codes: sett --help
`

// Run serves until the context ends.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("blackboard", help); done {
		return err
	}
	r := &env.Reader{Lookup: e.Lookup}
	dir := r.Required(env.StateDir, "the instance's state directory")
	addr := r.Required(env.ListenAddr, "where to listen, such as 127.0.0.1:6380")
	password := r.Or(env.Token, "")
	if err := r.Err(); err != nil {
		return role.Fail(role.Usage, err, "sett blackboard --help")
	}
	if err := guarded(addr, password); err != nil {
		return err
	}
	return serve(ctx, e, filepath.Join(dir, "blackboard"), addr, password)
}

// guarded refuses to offer everything to everybody on the network.
func guarded(addr, password string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return role.Fail(role.Usage, fmt.Errorf("%s is %q: %w", env.ListenAddr, addr, err), "write host:port, such as 127.0.0.1:6380")
	}
	if ip := net.ParseIP(host); password == "" && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return role.Fail(role.Usage, fmt.Errorf("%s is %q, which others may reach, and %s is not set", env.ListenAddr, addr, env.Token),
			"set a password, or listen on 127.0.0.1")
	}
	return nil
}
