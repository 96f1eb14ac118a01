package deploy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
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

// handBackCutOff queues the grants of cubs again that a sett down stopped while the blackboard could not be told. It
// records that stop first: a grant that comes back because of it has not failed. A cub that runs keeps its grant.
func handBackCutOff(ctx context.Context, u *upRun) error {
	cut, err := instance.ReadCutOff(u.in)
	if err != nil {
		u.at.Sayf("sett: warning: work of agents that a sett down stopped may count as a crash: %v\n", err)
	}
	if len(cut.Holders) == 0 {
		return instance.DropCutOff(u.in)
	}
	units, err := u.place.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	running, err := u.board.Roster.Running(ctx)
	if err != nil {
		return err
	}
	running = ofStopped(running, cut.Holders, holders(units))
	if len(running) > 0 {
		err := u.board.Control.SetInstance(ctx, blackboard.InstanceMove{State: blackboard.InstanceStopping, By: cut.By, With: "sett down"})
		if err != nil {
			return err
		}
	}
	for _, r := range running {
		err := u.board.Control.Requeue(ctx, blackboard.HandBack{
			GrantRef: blackboard.GrantRef{Claim: r.Claim, Agent: r.Agent, Attempt: r.Attempt, Holder: r.Holder},
			Reason:   "sett down stopped it, and could not reach the blackboard",
		})
		switch {
		case errors.Is(err, blackboard.ErrRefused): // its claim is gone
		case err != nil:
			return err
		default:
			u.at.Sayf("sett: note: claim %s is queued again for agent %s: sett down stopped it, and could not reach the blackboard\n", words.Short(r.Claim), role.Clean(r.Agent))
		}
	}
	return instance.DropCutOff(u.in)
}

// ofStopped returns the grants of cubs that were stopped and do not run: others may be at work, here or on another host.
func ofStopped(running []blackboard.Running, stopped, alive []string) []blackboard.Running {
	return slices.DeleteFunc(running, func(r blackboard.Running) bool {
		return !slices.Contains(stopped, r.Holder) || slices.Contains(alive, r.Holder)
	})
}
