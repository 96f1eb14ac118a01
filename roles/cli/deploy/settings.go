package deploy

import (
	"cmp"
	"context"
	"slices"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
)

// noteChanged notes in the state the settings that this up changes: where it ends before the ledger has them, the next one
// records them.
func noteChanged(u *upRun) {
	before, err := u.in.Config()
	if err != nil {
		return // the first up; or the digest alone tells
	}
	names := slices.Concat(u.in.Unrecorded, config.ChangedSettings(before, u.c))
	slices.Sort(names)
	u.in.Unrecorded = slices.Compact(names)
}

// recordUp marks the instance running, and records its start, and the settings that are in force from now on. A part that
// is started in a running instance makes no start.
func recordUp(ctx context.Context, u *upRun) error {
	s := blackboard.Settings{
		Digest: u.c.SettingsDigest(), Changed: u.in.Unrecorded, Sett: u.at.Build.Name(),
		Approve: u.c.Approve, Branch: u.c.Land.Branch(),
	}
	if u.facts.repository {
		s.Commit = instance.Repository(u.at, u.in).Head(ctx)
	}
	m := blackboard.InstanceMove{
		State: blackboard.InstanceRunning, By: u.at.Who(), With: "sett up", Settings: &s,
		Run: u.in.Run, Anew: u.plan.Action != actionApply,
	}
	if err := u.board.Control.SetInstance(ctx, m); err != nil || len(u.in.Unrecorded) == 0 {
		return err
	}
	u.in.Unrecorded = nil
	return u.in.Save()
}

// recordStop marks the instance stopping.
func recordStop(ctx context.Context, s *stopper, b *instance.Board) error {
	return b.Control.SetInstance(ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: s.at.Who(), With: cmp.Or(s.with, "sett down")})
}
