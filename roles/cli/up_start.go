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
	ahead := func() error { return nil }
	defer func() {
		if err != nil {
			_ = ahead() // what it starts is to be found, and stopped
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
	} else {
		ahead = u.launch.ahead(ctx)
		if err := u.startBlackboard(ctx); err != nil {
			return err
		}
	}
	u.ready("blackboard", u.blackboardDetail())
	if err := u.board.SetInstance(ctx, redis.InstanceRunning, "sett up"); err != nil {
		return err
	}
	if err := ahead(); err != nil {
		return err
	}
	if err := u.launch.startOrchestrator(ctx); err != nil {
		return err
	}
	return u.await(ctx, position)
}

// prepare settles where the blackboard is and writes the state.
func (u *upping) prepare(ctx context.Context) error {
	if err := u.locate(ctx); err != nil {
		return err
	}
	if err := u.chooseHealth(); err != nil {
		return err
	}
	if err := u.in.setStopping(false); err != nil {
		return err
	}
	return u.keep()
}

// locate settles where the blackboard of an instance is that is to be started.
func (u *upping) locate(ctx context.Context) error {
	if u.in.External {
		u.in.URL = "" // nothing to go on with
	}
	u.in.External = u.c.Redis.URL != ""
	if u.in.External {
		u.in.URL = u.c.Redis.URL
		return nil
	}
	return u.choosePort(ctx)
}

// keep writes the state and the configuration.
func (u *upping) keep() error {
	if err := u.in.save(); err != nil {
		return err
	}
	return writeFile(u.in.configPath(), u.c)
}

// choosePort keeps the port and password of the blackboard of our own where it can:
// what still runs knows no other. A port that is taken by somebody else is given up.
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
	return u.takePort(addr, password)
}

// takePort makes the URL of a blackboard of our own, at a port that is free now.
func (u *upping) takePort(addr, password string) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return role.Fail(role.Environment, fmt.Errorf("find a free port: %w", err), "")
	}
	u.in.URL = (&url.URL{Scheme: "redis", User: url.UserPassword(u.launch.user(), password), Host: l.Addr().String(), Path: "/0"}).String()
	return l.Close()
}

// boardEnviron is how a part that the host runs reaches the blackboard.
func (u *upping) boardEnviron(at string) []string {
	return env.Redis{
		URL: at, Timeout: u.c.Redis.Timeout, Retries: u.c.Redis.Retries, GiveUp: u.c.Redis.GiveUp,
		CAFile: u.a.Getenv(env.RedisCAFile),
	}.Environ()
}

// labels are those of a part that is there once.
func (u *upping) labels(component string) runtime.Labels {
	l := u.in.labels()
	l[runtime.LabelComponent] = component
	return l
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
		if now.Name == unit.Name && (now.Running || now.Restarting && u.adopt) { // a new one is not to need that
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
		err = u.launch.abandon(ctx)
	}
	if err != nil {
		u.a.sayf("sett: warning: %v\n", err)
	}
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
