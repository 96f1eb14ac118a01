package instance

import (
	"slices"

	"sett/contract/config"
	"sett/runtime"
)

// Parts returns the units that an instance must have, whatever its sett.yml says.
func (in *Instance) Parts() []string {
	parts := []string{runtime.ComponentOrchestrator}
	if !in.External {
		parts = append([]string{runtime.ComponentBlackboard}, parts...)
	}
	if in.Runtime != config.RuntimeDocker || in.Host {
		parts = append(parts, runtime.ComponentKeeper)
	}
	return parts
}

// OwnProcesses returns the parts of sett that are processes of this machine, in the
// order in which they are stopped.
func (in *Instance) OwnProcesses() []string {
	switch {
	case in.Runtime == config.RuntimeDocker && !in.Host:
		return nil
	case in.Runtime == config.RuntimeDocker, in.External:
		return []string{runtime.ComponentOrchestrator, runtime.ComponentKeeper}
	}
	return []string{runtime.ComponentOrchestrator, runtime.ComponentKeeper, runtime.ComponentBlackboard}
}

// Logging returns the parts that write logs: those of sett.yml, Sett's own, and all
// others with a log.
func (in *Instance) Logging(others []string) []string {
	known := []string{runtime.ComponentOrchestrator, runtime.ComponentBlackboard, runtime.ComponentKeeper}
	if in.External {
		known = slices.Delete(known, 1, 2)
	}
	cfg, err := in.Config()
	if err != nil {
		cfg = &config.Config{}
	}
	if cfg.Notify != nil {
		known = append(known, runtime.ComponentNotifier)
	}
	if cfg.HasTrees() {
		known = append(known, runtime.ComponentRepository)
	}
	if len(cfg.Models) > 0 {
		known = append(known, runtime.ComponentModelGateway)
	}
	known = append(cfg.Names(), known...)
	for _, name := range others {
		if !slices.Contains(known, name) {
			known = append(known, name)
		}
	}
	return known
}
