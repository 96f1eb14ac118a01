package deploy

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/runtime"
)

// clear stops the units that are in the way of a start: those that an interrupted sett
// down left, those in a former runtime, and those with an unknown password.
func (u *upRun) clear(ctx context.Context) error {
	if !u.plan.clears {
		return nil
	}
	before, err := u.in.Config()
	if err != nil {
		before = u.c // for grace periods only
	}
	s := &stopper{at: u.at, in: u.in, place: u.place, config: before, with: "sett up"}
	if err := s.stop(ctx); err != nil {
		return err
	}
	u.in.Lost = false
	u.facts.cleared(u.plan.state)
	return nil
}

// supply makes the images and binaries that are missing. A build may have made another
// image than before, so that the plan is made again.
func (u *upRun) supply(ctx context.Context) (release func(), err error) {
	in := u.in
	in.State = u.plan.state
	if u.plan.Action != actionApply {
		in.Run, in.StartedAt = u.at.NewID(), u.began.UTC()
	}
	if release, err = u.launch.materials(ctx, u.facts, true); err != nil {
		return nil, err
	}
	noteValues(u.facts, u.values)
	if err = errors.Join(noteWalls(u), noteModels(u)); err == nil {
		err = u.pinPrograms()
	}
	if err != nil {
		release()
		return nil, err
	}
	u.plan = newPlan(u.facts)
	if u.place, err = u.at.Place(ctx, in); err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// do carries the plan out. A failed start stops everything again; a failed change stops
// nothing.
func (u *upRun) do(ctx context.Context) error {
	u.chooseMark()
	if err := chooseOwner(u); err != nil {
		return err
	}
	noteChanged(u)
	if u.plan.Action == actionApply {
		return u.apply(ctx)
	}
	if err := u.prepare(ctx); err != nil {
		return err
	}
	u.announce()
	u.position = blackboard.PositionAt(u.began)
	err := u.launch.launch(ctx, u.serve)
	if err == nil {
		err = u.await(ctx)
	}
	if err != nil {
		u.abandon(ctx)
	}
	return err
}

// apply hands the changes to a running instance, and starts its parts that do not run.
func (u *upRun) apply(ctx context.Context) error {
	if err := makeTrees(ctx, u); err != nil {
		return err
	}
	u.announce()
	u.plan.tell(u.at)
	if err := u.changeOver(ctx); err != nil {
		return err
	}
	if u.in.Repository == "" { // an older sett started it
		if err := chooseRepository(ctx, &u.job); err != nil {
			return err
		}
	}
	if err := chooseGateway(ctx, &u.job); err != nil {
		return err
	}
	if err := makeModels(u); err != nil {
		return err
	}
	if err := errors.Join(instance.KeepCA(u.in, u.facts.authority.text), u.save()); err != nil {
		return err
	}
	if err := u.launch.launch(ctx, u.serve); err != nil {
		return err
	}
	if err := u.board.Control.Nudge(ctx); err != nil {
		return err
	}
	err := u.await(ctx)
	var e *role.Error
	if errors.As(err, &e) && !instance.IsOwned(err) {
		return role.Fail(e.Code, err, "the instance goes on running; sett logs shows more")
	}
	return err
}

// changeOver stops the processes that another sett started, so that this one's take
// their place: an orchestrator of then may not know a gate that sett.yml has now, nor a
// variable's new value. Work
// goes on, since everything these parts know is on the blackboard. Containers are
// replaced where they are updated, and agents because their digest changes.
func (u *upRun) changeOver(ctx context.Context) error {
	parts := u.plan.replaced(u.in.OwnProcesses())
	if len(parts) == 0 {
		return nil
	}
	// Keeper and orchestrator would start each other again. If this up is killed here, the
	// next one finds a down to finish, and starts everything.
	if err := u.in.SetStopping(true); err != nil {
		return err
	}
	for _, part := range parts {
		if err := u.place.Stop(ctx, part, orchestratorGrace); err != nil {
			return err
		}
	}
	return u.in.SetStopping(false)
}

// serve waits until the blackboard answers and marks the instance running there.
func (u *upRun) serve(ctx context.Context, unit *runtime.Unit) error {
	if err := u.connect(ctx, unit); err != nil {
		return err
	}
	if err := takeBoard(ctx, u); err != nil {
		return err
	}
	if err := convert(ctx, u); err != nil {
		return err
	}
	if err := instance.EnsureBases(ctx, u.at, u.board, u.in); err != nil {
		return err
	}
	if now := boardOf(u.in.State); u.in.UpAt != now {
		u.in.UpAt = now
		if err := u.in.Save(); err != nil {
			return err
		}
	}
	u.ready("blackboard", u.blackboardDetail())
	sayRemoved(ctx, u)
	if err := handBackCutOff(ctx, u); err != nil {
		return err
	}
	if err := recordUp(ctx, u); err != nil {
		return err
	}
	var err error
	if u.plan.replaces() || u.plan.Action != actionApply && u.in.External { // its clock may differ from ours
		u.position, err = u.board.Ledger.Last(ctx)
	}
	return err
}

// prepare settles the ports and writes the state.
func (u *upRun) prepare(ctx context.Context) error {
	if !u.in.External {
		if err := u.choosePort(ctx); err != nil {
			return err
		}
	}
	if err := u.chooseHealth(); err != nil {
		return err
	}
	if err := chooseRepository(ctx, &u.job); err != nil {
		return err
	}
	if err := chooseGateway(ctx, &u.job); err != nil {
		return err
	}
	if err := makeTrees(ctx, u); err != nil {
		return err
	}
	if err := makeModels(u); err != nil {
		return err
	}
	if err := u.in.SetStopping(false); err != nil {
		return err
	}
	return errors.Join(instance.KeepCA(u.in, u.facts.authority.text), u.save())
}

// choosePort keeps the port and password of sett's own blackboard if it can: a unit that
// still runs knows no others.
func (u *upRun) choosePort(ctx context.Context) error {
	password := rand.Text()
	if old, err := url.Parse(u.in.URL); err == nil && old.User != nil && old.Hostname() == "127.0.0.1" {
		password, _ = old.User.Password()
		units, err := u.place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentBlackboard})
		if err != nil {
			return fmt.Errorf("list what runs: %w", err)
		}
		if len(units) > 0 && units[0].Running {
			return nil
		}
		if addr := boardAddress(u.in.URL, nil); addr != "" {
			return u.takePort(addr, password)
		}
	}
	return u.takePort("127.0.0.1:0", password)
}

// takePort makes the URL of a blackboard of sett's own, at a port that is free now.
func (j *job) takePort(addr, password string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("find a free port: %w", err), "")
	}
	user := adminUser
	if j.c.Runtime != config.RuntimeDocker || j.c.Services.Redis.Embedded {
		user = "default"
	}
	j.in.URL = (&url.URL{Scheme: "redis", User: url.UserPassword(user, password), Host: l.Addr().String(), Path: "/0"}).String()
	return l.Close()
}

// abandon stops all that a failed start has started. It has a time of its own, since the
// time of the start may be over. Images stay, which are a cache, and so does a ledger
// that was there before.
func (u *upRun) abandon(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	s := &stopper{at: u.at, in: u.in, place: u.place, config: u.c, unled: !u.led, with: "sett up"}
	err := s.stop(ctx)
	if err == nil {
		err = u.place.Clear(ctx, false)
	}
	if c, ok := u.place.(*instance.Containers); ok && u.plan.newData {
		err = errors.Join(err, c.RemoveVolume(ctx, c.LedgerVolume()), u.unsettle())
	}
	if err != nil {
		u.at.Sayf("sett: warning: %v\n", err)
	}
}
