// Package keeper is the role that keeps an instance of local mode running: it
// starts the blackboard and then the orchestrator, and starts each again that
// ends. The orchestrator does the same for the keeper, so that the death of any
// one process heals. It knows nothing of what they do.
package keeper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
	"sett/runtime/process"
)

const help = `Keep the processes of an instance running in local mode.

Usage: sett keeper

A role that sett up starts itself. It starts the blackboard, where the instance has
one of its own, and the orchestrator, with its own environment, and starts each
again that ends. It starts nothing while there is a file "stopping" in the
instance's directory: sett down puts it there.

Environment:
  SETT_STATE_DIR        the instance's directory
  SETT_INSTANCE_NAME    the instance's name
  SETT_RUN              the sett up it belongs to
  SETT_BLACKBOARD_ADDR  where the blackboard listens; empty: it is not ours to start
  and what the blackboard and the orchestrator need.

` + role.CodesHelp + "\n"

// Run keeps the units running until the context ends, and leaves them running
// then, or until the instance is being stopped.
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

// specs describes what is kept, in the order in which it starts.
func specs(e role.Env, instance string) []runtime.Spec {
	components := []string{runtime.ComponentBlackboard, runtime.ComponentOrchestrator}
	if e.Getenv(env.ListenAddr) == "" {
		components = components[1:]
	}
	var out []runtime.Spec
	for _, c := range components {
		labels := runtime.Labels{runtime.LabelInstance: instance, runtime.LabelComponent: c}
		if run := e.Getenv(env.Run); run != "" {
			labels[runtime.LabelRun] = run
		}
		out = append(out, runtime.Spec{Name: c, Args: []string{c}, Env: env.WithoutUnit(e.Environ()), Labels: labels})
	}
	return out
}

// stopping says whether the instance is being stopped, or was removed.
func stopping(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "stopping")); err == nil {
		return true
	}
	_, err := os.Stat(dir)
	return os.IsNotExist(err)
}
