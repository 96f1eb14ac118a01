package blackboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"sett/blackboard/embedded"
	"sett/blackboard/redis/lua"
	"sett/roles/role"
)

// serve serves the data of a directory at an address until the context ends.
func serve(ctx context.Context, e role.Env, dir, addr, password string) (err error) {
	log := e.Logger("blackboard")
	server, report, err := embedded.Open(embedded.Options{Dir: dir, Password: password, Logger: log, Now: e.Now, Own: lua.Own})
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
	log.Info("blackboard serves", "addr", l.Addr().String(), "dir", dir, "pid", syscall.Getpid(), "version", e.Build.Version)
	if err := server.Serve(ctx, l); err != nil {
		return role.Fail(role.Environment, fmt.Errorf("serve blackboard: %w", err), "")
	}
	log.Info("blackboard stopped")
	return nil
}

// tell logs the report of the start; a repair is worth a warning.
func tell(log *slog.Logger, r embedded.Report) {
	if r.Repaired > 0 {
		log.Warn("log repaired: its last record was cut short by a crash and removed; it had not been acknowledged", "bytes", r.Repaired)
	}
	log.Info("blackboard restored", "keys", r.Snapshot, "records", r.Records, "took", r.Took)
}

// explain gives the errors of opening their exit code and a hint.
func explain(err error) error {
	var corrupt *embedded.CorruptError
	var locked *embedded.LockedError
	switch {
	case errors.As(err, &corrupt):
		return role.Fail(role.Environment, err, "%s", corrupt.Remedy())
	case errors.As(err, &locked) && locked.PID != 0:
		return role.Fail(role.Environment, err, "process %d serves this directory; sett list shows whose it is", locked.PID)
	case errors.As(err, &locked):
		return role.Fail(role.Environment, err, "another process serves this directory; sett list shows whose it is")
	}
	return role.Fail(role.Environment, err, "")
}
