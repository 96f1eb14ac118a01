// Package keeper is the role that keeps an instance of local mode running: it starts
// the blackboard and then the orchestrator, and restarts each that ends. The
// orchestrator does the same for the keeper, so that the death of any one process
// heals. It knows nothing of their work.
package keeper

import (
	"context"
	"fmt"
	"os"

	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime/process"
)

// Run keeps the units running until the instance is being stopped, or until the context
// ends, which leaves them running.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("keeper", help); done {
		return err
	}
	r := &env.Reader{Lookup: e.Lookup}
	dir := r.Required(env.StateDir, "the instance's state directory")
	instance := r.Required(env.Instance, "the instance's name, such as my-sett")
	r.Required(env.RedisURL, "the blackboard, such as redis://:password@host:6379/0")
	if err := r.Err(); err != nil {
		return role.Fail(role.Usage, err, "sett keeper --help")
	}
	log := e.Logger("keeper")
	log.Info("keeper runs", "instance", instance, "pid", os.Getpid(), "version", e.Build.Version)
	rt := process.New(process.Options{Dir: dir, Logger: log})
	err := process.Keep(ctx, rt, specs(e, instance), process.KeepOptions{Logger: log, Stopping: func() bool { return stopping(dir) }})
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("keep instance %s: %w", instance, err), "")
	}
	log.Info("keeper stopped")
	return nil
}
