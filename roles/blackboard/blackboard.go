// Package blackboard is the role that serves the embedded blackboard of local
// mode: the Redis protocol on one address, from one directory. What it stores and
// how is blackboard/embedded's; this is its wiring.
package blackboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"

	"sett/blackboard/embedded"
	"sett/contract/env"
	"sett/roles/role"
)

const help = `Serve the blackboard of local mode.

Usage: sett blackboard

A role that sett up starts itself where there is no Redis. It speaks the Redis
protocol, and has on disk what it acknowledged: it may be killed at any moment.

Environment:
  SETT_STATE_DIR            the instance's directory; the data is in blackboard/ below it
  SETT_BLACKBOARD_ADDR      where to listen, such as 127.0.0.1:6380
  SETT_BLACKBOARD_PASSWORD  what clients must know; empty: nothing, on a loopback address only
  SETT_LOG_FORMAT           json or text; default: text on a terminal
  SETT_LOG_LEVEL            debug, info (default), warn or error

` + role.CodesHelp + "\n"

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
	return serve(ctx, e, embedded.Options{
		Dir: filepath.Join(dir, "blackboard"), Password: password, Logger: e.Logger("blackboard"), Now: e.Now,
	}, addr)
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

func serve(ctx context.Context, e role.Env, o embedded.Options, addr string) (err error) {
	log := o.Logger
	server, report, err := embedded.Open(o)
	if err != nil {
		return explain(err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	tell(log, report)
	l, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return role.Fail(role.Environment, fmt.Errorf("listen on %s: the port is in use by another program", addr),
			"sett down && sett up takes a free one")
	}
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("listen on %s: %w", addr, err), "")
	}
	log.Info("blackboard serves", "addr", l.Addr().String(), "dir", o.Dir, "pid", syscall.Getpid(), "version", e.Build.Version)
	if err := server.Serve(ctx, l); err != nil {
		return role.Fail(role.Environment, fmt.Errorf("serve blackboard: %w", err), "")
	}
	log.Info("blackboard stopped")
	return nil
}

// tell logs what was found on disk; a repair is worth a warning.
func tell(log *slog.Logger, r embedded.Report) {
	if r.Repaired > 0 {
		log.Warn("log repaired: its last record was cut short by a crash and removed; it had not been acknowledged", "bytes", r.Repaired)
	}
	log.Info("blackboard restored", "keys", r.Snapshot, "records", r.Records, "took", r.Took)
}

// explain gives the errors of opening their exit code and what to do.
func explain(err error) error {
	var corrupt *embedded.CorruptError
	var locked *embedded.LockedError
	switch {
	case errors.As(err, &corrupt):
		return role.Fail(role.Environment, err,
			"nothing was changed; restore %s from a copy, or give the record up with sett down --purge", corrupt.File)
	case errors.As(err, &locked) && locked.PID != 0:
		return role.Fail(role.Environment, err, "process %d serves this directory; sett list shows whose it is", locked.PID)
	case errors.As(err, &locked):
		return role.Fail(role.Environment, err, "another process serves this directory; sett list shows whose it is")
	}
	return role.Fail(role.Environment, err, "")
}
