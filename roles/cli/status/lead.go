package status

import (
	"context"
	"fmt"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/runtime"
)

// Led says whether an orchestrator leads.
func Led(ctx context.Context, b *instance.Board) (bool, error) {
	leader, err := b.Roster.Leader(ctx)
	if err != nil || leader.Holder == "" {
		return false, err
	}
	now, err := b.ServerTime(ctx)
	return err == nil && leader.Until.After(now), err
}

// Unled says why nobody leads an instance, and the command that helps.
func Unled(ctx context.Context, at *instance.Locator, b *instance.Board, in *instance.Instance) string {
	if refusal, err := b.Refusal(ctx); err == nil && refusal != nil {
		return fmt.Sprintf("%v; %s", refusal, refusal.Remedy())
	}
	does, cure := "runs and does not lead", at.CommandLine(in, "logs "+runtime.ComponentOrchestrator)
	if units := unitsOf(ctx, at, in); units == nil { // they cannot be seen, or are elsewhere
		does = "does not lead"
	} else {
		switch u := units[runtime.ComponentOrchestrator]; {
		case u.Paused:
			does, cure = "is paused", "docker unpause sett-"+in.Name+"."+runtime.ComponentOrchestrator
		case u.Restarting:
			does = "is being restarted by " + in.Restarter()
		case !u.Running:
			does, cure = "does not run", at.UpLine(in)+" starts it"
		}
	}
	return fmt.Sprintf("the %s of %s %s, so nothing is granted; %s", blackboard.RoleOrchestrator, in.Name, does, cure)
}
