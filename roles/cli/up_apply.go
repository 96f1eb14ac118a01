package cli

import (
	"context"
	"errors"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/roles/role"
)

// apply gives a running instance what changed in sett.yml, and starts what of it
// does not run. It stops nothing if that fails.
func (u *upping) apply(ctx context.Context) error {
	old, err := u.in.config()
	if err != nil {
		return err
	}
	changes := config.Diff(old, u.c)
	u.announce()
	u.tell(old, changes)
	if err := u.changeOver(ctx); err != nil {
		return err
	}
	if err := u.keep(); err != nil {
		return err
	}
	if u.in.External {
		err = u.connect(ctx, nil)
	} else {
		err = u.startBlackboard(ctx)
	}
	if err != nil {
		return err
	}
	u.ready("blackboard", u.blackboardDetail())
	if err := u.board.SetInstance(ctx, redis.InstanceRunning, "sett up"); err != nil {
		return err
	}
	position, err := u.launch.update(ctx, changes)
	if err != nil {
		return err
	}
	if err := u.board.Nudge(ctx); err != nil {
		return err
	}
	if err := u.await(ctx, position); err != nil {
		var e *role.Error
		if errors.As(err, &e) {
			return role.Fail(e.Code, err, "the instance goes on running; sett logs shows more")
		}
		return err
	}
	return nil
}

// tell prints what changed since before.
func (u *upping) tell(before *config.Config, c config.Changes) {
	a := u.a
	if u.other != "" {
		a.printf("  %s was started by %s; its parts are being restarted with this one, sett %s\n", a.paint("~", warn), clean(u.other), a.builtAs())
	} else if c.Empty() {
		a.printf("  runs already, nothing changed in %s\n", clean(a.relative(u.in.ConfigFile)))
		return
	}
	for _, name := range c.Added {
		a.printf("  %s %s: new\n", a.paint("+", good), name)
	}
	for _, name := range c.Removed {
		a.printf("  %s %s: gone, is being stopped\n", a.paint("-", bad), name)
	}
	for _, name := range c.Changed {
		was, _ := before.Agent(name)
		if is, _ := u.c.Agent(name); u.other != "" && onlySett(was, is) {
			a.printf("  %s %s: as before, is being restarted with this sett\n", a.paint("~", warn), name)
			continue
		}
		a.printf("  %s %s: changed, is being restarted\n", a.paint("~", warn), name)
	}
	switch {
	case c.Notify && u.c.Notify == nil:
		a.printf("  %s notifier: gone, is being stopped\n", a.paint("-", bad))
	case c.Notify:
		a.printf("  %s notifier: changed, is being started anew\n", a.paint("~", warn))
	}
	if c.Policy {
		a.printf("  %s orchestrator: goes by the new settings\n", a.paint("~", warn))
	}
}
