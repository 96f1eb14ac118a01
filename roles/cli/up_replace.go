package cli

import (
	"context"
	"fmt"

	"sett/contract/config"
	"sett/runtime"
)

// onlySett says whether an agent is restarted because its cub is another sett's, and for
// nothing that sett.yml or its image says.
func onlySett(was, is config.Agent) bool {
	if was.Resolved != nil && is.Resolved != nil {
		resolved := *is.Resolved
		resolved.Sett, resolved.Binary = was.Resolved.Sett, was.Resolved.Binary
		is.Resolved = &resolved
	} else {
		was.Resolved, is.Resolved = nil, nil // a sett of before there was any
	}
	return was.Digest() == is.Digest()
}

// builtAs says which sett this is.
func (a *app) builtAs() string {
	return fmt.Sprintf("%s (commit %s)", a.Build.Version, a.Build.Commit)
}

// otherSett says which other sett started what runs; empty: it was this one.
func (a *app) otherSett(in *instance) string {
	switch in.Sett {
	case a.builtAs():
		return ""
	case "":
		return "an older sett"
	}
	return "sett " + in.Sett
}

// changeOver ends what another sett runs as processes of this machine, so that this one
// takes its place: an orchestrator of then may not know what sett.yml asks for now, a
// gate for example. Work goes on: whatever these parts know is on the blackboard.
// Containers are replaced where they are updated, and agents with their changed digest.
func (u *upping) changeOver(ctx context.Context) error {
	if u.other == "" {
		return nil
	}
	u.in.Sett = u.a.builtAs()
	parts := u.in.ownProcesses()
	if len(parts) == 0 {
		return nil
	}
	// Keeper and orchestrator would bring each other back. Should we be killed here, the
	// next up finds a down to finish, and starts all.
	if err := u.in.setStopping(true); err != nil {
		return err
	}
	for _, part := range parts {
		if err := u.place.Stop(ctx, part, orchestratorGrace); err != nil {
			return err
		}
	}
	return u.in.setStopping(false)
}

// ownProcesses are the parts that are processes of this machine and sett's own, in the
// order in which they can be ended.
func (in *instance) ownProcesses() []string {
	switch {
	case in.Runtime == config.RuntimeDocker && !in.Host:
		return nil
	case in.Runtime == config.RuntimeDocker, in.External:
		return []string{runtime.ComponentOrchestrator, runtime.ComponentKeeper}
	}
	return []string{runtime.ComponentOrchestrator, runtime.ComponentKeeper, runtime.ComponentBlackboard}
}

// since is where in the ledger to look for a new orchestrator's entry, where the one that
// ran has been replaced; empty: it goes on.
func (u *upping) since(ctx context.Context) (position string, err error) {
	if u.other == "" {
		return "", nil
	}
	return u.board.Last(ctx)
}
