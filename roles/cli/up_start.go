package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"

	"crypto/rand"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
)

// start starts an instance of which nothing that counts runs. If that fails, what
// was started is stopped again.
func (u *upping) start(ctx context.Context) (err error) {
	if err := u.prepare(ctx); err != nil {
		return err
	}
	u.announce()
	defer func() {
		if err != nil {
			u.abandon()
		}
	}()
	position := redis.PositionAt(u.began)
	if u.in.External {
		// Its clock may differ from ours, but its ledger is there already.
		if err := u.connect(ctx, nil); err != nil {
			return err
		}
		if position, err = u.board.Last(ctx); err != nil {
			return err
		}
	} else if err := u.startBlackboard(ctx); err != nil {
		return err
	}
	u.ready("blackboard", u.blackboardDetail())
	if err := u.board.SetInstance(ctx, redis.InstanceRunning, "sett up"); err != nil {
		return err
	}
	if err := u.launch.startOrchestrator(ctx); err != nil {
		return err
	}
	return u.await(ctx, position)
}

// prepare settles where the blackboard is and writes the state.
func (u *upping) prepare(ctx context.Context) error {
	if u.in.External {
		u.in.URL = "" // nothing to go on with
	}
	u.in.External = u.c.Redis.URL != ""
	u.in.Run = u.a.NewID()
	if u.in.External {
		u.in.URL = u.c.Redis.URL
	} else if err := u.choosePort(ctx); err != nil {
		return err
	}
	if err := u.in.setStopping(false); err != nil {
		return err
	}
	if err := u.in.save(); err != nil {
		return err
	}
	return writeFile(u.in.configPath(), u.c)
}

// choosePort keeps the embedded blackboard's port and password where it can: what
// still runs knows no other. A port that is taken by somebody else is given up.
func (u *upping) choosePort(ctx context.Context) error {
	addr, password := "127.0.0.1:0", rand.Text()
	if old, err := url.Parse(u.in.URL); err == nil && old.User != nil && old.Hostname() == "127.0.0.1" {
		password, _ = old.User.Password()
		units, err := u.place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentBlackboard})
		if err != nil {
			return fmt.Errorf("list what runs: %w", err)
		}
		if len(units) > 0 && units[0].Running {
			return nil
		}
		if l, err := net.Listen("tcp", old.Host); err == nil {
			addr = old.Host
			_ = l.Close()
		}
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("find a free port: %w", err), "")
	}
	u.in.URL = (&url.URL{Scheme: "redis", User: url.UserPassword(u.launch.user(), password), Host: l.Addr().String(), Path: "/0"}).String()
	return l.Close()
}

// environ is the environment of the keeper, and so of all it starts: each takes
// from it what it needs, and hands it on to whom it restarts.
func (u *upping) environ() []string {
	vars := env.Inherited(u.a.Environ())
	for _, v := range []struct{ name, value string }{
		{env.StateDir, u.in.dir}, {env.Instance, u.in.Name}, {env.Config, u.in.configPath()},
		{env.Workspace, u.in.Workspace}, {env.Run, u.in.Run}, {env.HealthAddr, "127.0.0.1:0"},
		{env.Lease, u.a.Getenv(env.Lease)},
	} {
		if v.value != "" {
			vars = append(vars, v.name+"="+v.value)
		}
	}
	vars = append(vars, env.Redis{
		URL: u.in.URL, Timeout: u.c.Redis.Timeout, Retries: u.c.Redis.Retries, GiveUp: u.c.Redis.GiveUp,
		CAFile: u.a.Getenv(env.RedisCAFile),
	}.Environ()...)
	if at, err := url.Parse(u.in.URL); err == nil && !u.in.External {
		password, _ := at.User.Password()
		vars = append(vars, env.ListenAddr+"="+at.Host, env.Token+"="+password)
	}
	return vars
}

func (u *upping) spec(component string) runtime.Spec {
	return runtime.Spec{
		Name: component, Args: []string{component}, Env: u.environ(),
		Labels: runtime.Labels{
			runtime.LabelInstance: u.in.Name, runtime.LabelComponent: component, runtime.LabelRun: u.in.Run,
		},
	}
}

// startBlackboard starts the blackboard of our own and waits for it.
func (u *upping) startBlackboard(ctx context.Context) error {
	unit, err := u.launch.startBlackboard(ctx)
	if err != nil {
		return fmt.Errorf("start blackboard: %w", err)
	}
	return u.connect(ctx, &unit)
}

// connect waits until the blackboard answers, or the unit that is to serve it has
// ended.
func (u *upping) connect(ctx context.Context, unit *runtime.Unit) error {
	o := redis.Options{URL: u.in.URL, Instance: u.in.Name, Name: "sett-up", Timeout: u.c.Redis.Timeout, CAFile: u.a.Getenv(env.RedisCAFile)}
	if unit != nil {
		o.Retries = -1
	}
	for {
		b, err := redis.Open(ctx, o)
		if err == nil {
			u.board = b
			return nil
		}
		if unit == nil || !errors.Is(err, blackboard.ErrUnavailable) {
			return role.Fail(role.Environment, err, "is that server up, and the URL right?")
		}
		if why := u.ended(ctx, unit); why != nil {
			return why
		}
		if !pause(ctx) {
			return u.late(runtime.ComponentBlackboard)
		}
	}
}

// ended returns an error when the unit runs no more.
func (u *upping) ended(ctx context.Context, unit *runtime.Unit) error {
	units, err := u.place.List(ctx, nil)
	if err != nil || ctx.Err() != nil {
		return nil // the wait goes on, or ends for its own reason
	}
	for _, now := range units {
		if now.Name == unit.Name && now.Running {
			return nil
		}
	}
	return role.Fail(role.Environment, u.failed(unit.Name, "ended"), "sett logs %s", unit.Name)
}

// abandon stops what a failed start has started. Its own time, since the time of
// the start may be over.
func (u *upping) abandon() {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(u.a.ctx), stopTime)
	defer cancel()
	s := &stopper{a: u.a, in: u.in, place: u.place, config: u.c}
	err := s.stop(ctx)
	if err == nil {
		err = u.launch.clear(ctx)
	}
	if err != nil {
		u.a.sayf("sett: warning: %v\n", err)
	}
}

// finishDown ends what a sett down that was interrupted left running: an
// orchestrator that leads already, and was told to stop, is none to wait for.
func (u *upping) finishDown(ctx context.Context) error {
	if !u.in.stopping() {
		return nil
	}
	place, err := u.a.place(ctx, u.in)
	if err != nil {
		return err
	}
	before, err := u.in.config()
	if err != nil {
		before = u.c // it is about grace periods only
	}
	s := &stopper{a: u.a, in: u.in, place: place, config: before}
	if err := s.stop(ctx); err != nil {
		return err
	}
	if s.stopped > 0 {
		u.a.sayf("note: finished a sett down that was interrupted\n")
	}
	return nil
}

// stopping says whether the instance is being stopped, or was left half stopped.
func (in *instance) stopping() bool { return exists(in.stoppingPath()) }

// setStopping tells the keeper whether to start anything.
func (in *instance) setStopping(stopping bool) error {
	if stopping {
		if err := os.WriteFile(in.stoppingPath(), nil, 0o600); err != nil {
			return fmt.Errorf("mark instance %s stopping: %w", in.Name, err)
		}
		return nil
	}
	if err := os.Remove(in.stoppingPath()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("mark instance %s running: %w", in.Name, err)
	}
	return nil
}
