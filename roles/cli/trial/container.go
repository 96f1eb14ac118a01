package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"sett/blackboard"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/cli/deploy"
	"sett/roles/cli/instance"
	"sett/roles/cub/door"
	"sett/roles/cub/once"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
	"sett/roles/role/container"
	"sett/roles/role/store"
	"sett/runtime"
)

// Image is the agent's image, in which a program of sett can be run.
type Image interface {
	// Owner is the user of its containers.
	Owner() (uid, gid int)
	// Run runs the sett binary with these arguments, and calls said with each line that it prints.
	Run(ctx context.Context, args, environ []string, dir string, mounts []runtime.Mount, said func(string)) error
}

// InImage has the trial run the agent's programs in its image, which is made here as sett
// up does. The caller calls done at the end.
func InImage(ctx context.Context, t *Trial, at *instance.Locator, c *config.Config, file string) (done func(), err error) {
	berth, err := deploy.NewBerth(ctx, at, c, t.Agent, t.Root, file, t.Keep)
	if err != nil {
		return nil, err
	}
	t.Image, t.Below = berth, berth.Dir()
	return func() { berth.Close(ctx) }, nil
}

// seen are the places of the tree as its tool sees them.
func seen(t *Trial) store.Seen {
	if t.Image == nil {
		return store.Seen{}
	}
	return store.Seen{Objects: container.Objects, Git: container.InSlot(container.TreeGit, slotOf(t))}
}

// inside is the tool's directory as it sees it.
func inside(t *Trial) string {
	switch {
	case t.Image == nil:
		return t.place.dir
	case t.place.tree == nil:
		return container.Home
	}
	return container.InSlot(container.Workspace, slotOf(t))
}

// slotOf is the first slot of an agent with several; 0: it has one.
func slotOf(t *Trial) int {
	if t.Agent.Slots() > 1 {
		return 1
	}
	return 0
}

// pinnedDir is the directory of the pinned files as the tool sees it.
func pinnedDir(t *Trial) string {
	if t.Image == nil {
		return t.pin
	}
	return container.Pin
}

// exec runs a program of the agent as its cub would: in its image where that is wanted,
// else here. It has the way to the agent's model by the door; nil: none.
func exec(ctx context.Context, t *Trial, c toolrun.Command, vars env.ToolVars, d *door.Door) (toolrun.Result, error) {
	if t.Image == nil {
		var err error
		if c.Args, err = toolrun.OwnProgram(c.Args); err != nil {
			return toolrun.Result{ExitCode: -1}, err
		}
		c.Env = env.ToolEnviron(append(append(t.inherited(), t.Variables...), cubOf(t).Environ()...), vars)
		if d != nil {
			c.Env = d.Environ(c.Env)
		}
		c.Env = append(c.Env, t.place.ground.locked().Processes().Variable(groundTool))
		c.Confine = t.confined()
		return toolrun.New().Run(ctx, c)
	}
	dir := filepath.Join(t.place.top, "once")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return toolrun.Result{ExitCode: -1}, fmt.Errorf("hand over the program: %w", err)
	}
	request := once.Request{Args: c.Args, Dir: c.Dir, Stdin: c.Stdin, Timeout: c.Timeout, Limit: c.Limit, Tool: vars, NoNetwork: t.Agent.Network == "none"}
	mounts := append(mountsOf(t), runtime.Mount{Source: dir, Target: once.Dir})
	if d != nil {
		way, mount, err := lend(t, d)
		if err != nil {
			return toolrun.Result{ExitCode: -1}, role.Fail(role.Environment, err, "")
		}
		request.Model, mounts = way, append(mounts, mount...)
	}
	if err := once.Put(dir, request); err != nil {
		return toolrun.Result{ExitCode: -1}, err
	}
	if err := give(t); err != nil {
		return toolrun.Result{ExitCode: -1}, err
	}
	said := func(line string) { _, _ = c.Stderr.Write([]byte(line + "\n")) }
	err := t.Image.Run(ctx, []string{"cub", once.Flag, once.Dir}, append(append([]string{}, t.Variables...), cubOf(t).Environ()...), c.Dir, mounts, said)
	err = errors.Join(err, takeBack(t))
	report, unread := once.Take(dir)
	switch {
	case ctx.Err() != nil:
		report.Result.Cancelled = true
		return report.Result, nil
	case err != nil || unread != nil:
		return toolrun.Result{ExitCode: -1}, role.Fail(role.Environment, errors.Join(err, unread), "")
	case report.Error != "":
		return report.Result, errors.New(report.Error)
	}
	return report.Result, nil
}

// give gives the files of the trial to the user of the container.
func give(t *Trial) error {
	if os.Geteuid() != 0 {
		return nil
	}
	uid, gid := t.Image.Owner()
	return role.Fail(role.Environment, store.Give(uid, gid, filepath.Dir(t.pin), t.place.top), "")
}

// takeBack takes them back: git refuses another user's repository.
func takeBack(t *Trial) error {
	if os.Geteuid() != 0 {
		return nil
	}
	return role.Fail(role.Environment, store.Give(0, os.Getegid(), t.place.top), "")
}

// mountsOf are the directories that the tool sees. The store of a trial borrows objects,
// which git looks for where they are here.
func mountsOf(t *Trial) []runtime.Mount {
	var all []runtime.Mount
	if t.place.tree != nil {
		all = container.Mounts(t.place.tree, slotOf(t), t.place.store.Objects(), t.Agent.Workspace.Mode)
		for _, dir := range t.place.borrowed {
			all = append(all, runtime.Mount{Source: dir, Target: dir, ReadOnly: true})
		}
	}
	if t.Agent.Resolved.Pin != "" {
		all = append(all, runtime.Mount{Source: t.pin, Target: container.Pin, ReadOnly: true})
	}
	return all
}

// cubOf is the configuration that the agent's cub would have.
func cubOf(t *Trial) env.Cub {
	c := env.Of(t.Agent)
	c.Instance, c.Workspace, c.Incarnation = t.Instance, inside(t), t.NewID()
	if c.PinDigest = t.Agent.Resolved.Pin; c.PinDigest != "" {
		c.Pin = pinnedDir(t)
	}
	c.Command, c.BidScript = t.own(c.Command), t.own(c.BidScript)
	if t.gate != nil && t.Agent.LLM.Door {
		c.Asks = env.AsksOf(t.Agent, t.gate.url, t.gate.token)
	}
	return c
}

// varsOf are the variables of one run.
func varsOf(t *Trial, bid blackboard.BidType, attempt int) env.ToolVars {
	vars := env.ToolVars{
		ClaimID: t.Claim, ClaimType: string(bid), TargetID: t.Target.ID, TargetType: t.Target.Type, TargetPayload: t.Target.Payload,
		TargetVersion: t.Target.Version, Attempt: attempt, GoalID: t.Goal.ID, Goal: t.Goal.Payload,
	}
	if attempt > 0 { // else it is a bid's
		vars.Slot, vars.Slots = 1, t.Agent.Slots()
	}
	return vars
}
