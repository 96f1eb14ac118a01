package cli

import (
	"context"
	"fmt"

	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

// finishDown finds out whether the instance runs, and ends what is in the way of a
// start: what a sett down that was interrupted left running, since an orchestrator
// that was told to stop is none to wait for, what runs where the instance is to run
// no more, and remains that know a password which nobody here does.
func (u *upping) finishDown(ctx context.Context) error {
	found, err := u.look(ctx)
	if err != nil || !found.inTheWay {
		return err
	}
	before, err := u.in.config()
	if err != nil {
		before = u.c // it is about grace periods only
	}
	s := &stopper{a: u.a, in: u.in, place: found.place, config: before}
	if err := s.stop(ctx); err != nil {
		return err
	}
	if s.stopped > 0 && found.stopping {
		u.note("finished a sett down that was interrupted")
	}
	u.move(found)
	return nil
}

// move forgets what an instance knows of the runtime that it leaves.
func (u *upping) move(found standing) {
	if !found.moved {
		return
	}
	u.note("what happened with runtime %s is kept, and seen with that only", u.in.Runtime)
	u.in.URL, u.in.External, u.in.Told = "", false, false
}

// standing is how things stand before an up.
type standing struct {
	place    place
	units    []runtime.Unit
	moved    bool // it is to run elsewhere than until now
	stopping bool // a sett down was interrupted
	inTheWay bool // what runs has to end first
}

// look finds out how things stand, and whether the instance runs. It changes nothing,
// and says what holds without anybody having said so now.
func (u *upping) look(ctx context.Context) (found standing, err error) {
	if u.in.Runtime == "" {
		u.in.Runtime = u.c.Runtime
	}
	if u.kept && u.in.Runtime == u.c.Runtime {
		u.say("sett: ", "", "instance %s runs as processes, as before; --runtime docker for containers", u.in.Name)
	}
	found.moved, found.stopping = u.in.Runtime != u.c.Runtime, u.in.stopping()
	found.place, err = u.a.place(ctx, u.in)
	if err != nil && found.moved {
		u.warn("what was left of runtime %s cannot be looked at: %v", u.in.Runtime, err)
		return found, nil
	}
	if err != nil {
		return found, err
	}
	if found.units, err = found.place.List(ctx, nil); err != nil {
		return found, fmt.Errorf("list what runs: %w", err)
	}
	if runs(found.units) && !found.stopping {
		if !u.in.known() {
			return found, role.Fail(role.Failed, fmt.Errorf("instance %s of this workspace runs already, and its password is in another state directory", u.in.Name),
				"whoever started it can use it; sett down --name %s ends it", u.in.Name)
		}
		u.adopt = true
		return found, u.compatible()
	}
	// What is left of it otherwise goes on.
	found.inTheWay = found.stopping || found.moved || !u.in.known()
	return found, nil
}

// compatible refuses changes that take a new start of a running instance.
func (u *upping) compatible() error {
	old, err := u.in.config()
	if err != nil {
		return err
	}
	if !config.Diff(old, u.c).Instance {
		return nil
	}
	return role.Fail(role.Usage, fmt.Errorf("instance %s runs, and %s, or what the flags say of it, changed in runtime, services, redis or where the orchestrator runs", u.in.Name, configName),
		"sett up with the flags that it was started with, or sett down && sett up; for now it goes on as it was")
}
