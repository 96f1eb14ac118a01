package keeper

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
)

const help = `Keep the processes of an instance running in local mode.

Usage: sett keeper

sett up starts it. It starts the blackboard, where the instance has one of its
own, and the orchestrator, with its own environment, and restarts each that
ends. It starts nothing while the file "stopping" is in the instance's
directory: sett down puts it there.

Environment:

  SETT_STATE_DIR        the instance's directory
  SETT_INSTANCE_NAME    the instance's name
  SETT_RUN              the sett up that it belongs to
  SETT_BLACKBOARD_ADDR  address of the blackboard; empty: another place runs it
  and the variables of the blackboard and the orchestrator.

Exit codes: sett --help
`

// specs describes the kept units, in the order in which they start.
func specs(e role.Env, instance string) []runtime.Spec {
	components := []string{runtime.ComponentBlackboard, runtime.ComponentOrchestrator}
	if e.Getenv(env.ListenAddr) == "" {
		components = components[1:]
	}
	var out []runtime.Spec
	for _, c := range components {
		labels := runtime.Labels{runtime.LabelInstance: instance, runtime.LabelComponent: c}
		for label, name := range map[string]string{runtime.LabelRun: env.Run, runtime.LabelWorkspace: env.Workspace} {
			if v := e.Getenv(name); v != "" {
				labels[label] = v
			}
		}
		vars := env.WithoutUnit(e.Environ())
		if c == runtime.ComponentBlackboard { // it starts no program of the clan's
			vars = slices.DeleteFunc(vars, func(v string) bool {
				return strings.HasPrefix(v, env.HostValues+"=") || strings.HasPrefix(v, env.ModelSecrets+"=")
			})
		}
		out = append(out, runtime.Spec{Name: c, Args: []string{c}, Env: vars, Labels: labels})
	}
	return out
}

// stopping says whether the instance is being stopped or was removed.
func stopping(dir string) bool {
	if _, err := os.Stat(filepath.Join(dir, "stopping")); err == nil {
		return true
	}
	_, err := os.Stat(dir)
	return os.IsNotExist(err)
}
