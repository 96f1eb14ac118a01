package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
	"sett/runtime"
)

// board opens the blackboard of the instance that is meant. The caller calls
// done when it needs it no more.
func (a *app) board(ctx context.Context) (b *redis.Board, in *instance, done func(), err error) {
	in, err = a.instance(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	b, err = a.open(ctx, in)
	if err != nil {
		return nil, in, nil, err
	}
	return b, in, b.Close, nil
}

// leastPatience is what a blackboard is given to answer in, however little time
// there is.
const leastPatience = 2 * time.Second

// boardWithin is board for who has so much time in all; 0: any.
func (a *app) boardWithin(limit time.Duration) (b *redis.Board, in *instance, done func(), err error) {
	if limit <= 0 {
		return a.board(a.ctx)
	}
	ctx, cancel := context.WithTimeout(a.ctx, max(limit, leastPatience))
	defer cancel()
	b, in, done, err = a.board(ctx)
	if err != nil && in != nil && ctx.Err() != nil && a.ctx.Err() == nil {
		err = role.Fail(role.TimedOut, fmt.Errorf("%s was not enough: the blackboard does not answer", limit), "sett list, %s", a.boardLog(in))
	}
	return b, in, done, err
}

// comeback is how long a blackboard of our own is waited for that has ended and is
// being started again: what a person just typed is to go through.
const comeback = 8 * time.Second

// open opens the blackboard of an instance. One that does not run is not running,
// wherever its blackboard is: exit code 3. One that should be there and does not answer
// is a matter of the environment: 7.
func (a *app) open(ctx context.Context, in *instance) (*redis.Board, error) {
	place, err := a.place(ctx, in)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, comeback)
	defer cancel()
	var back standingBoard
	for first := true; ; first = false {
		now, err := a.lookAtBoard(ctx, in, place)
		if err != nil {
			return nil, err
		}
		back = now.after(back)
		b, err := redis.Open(ctx, redis.Options{URL: in.URL, Instance: in.Name, Name: "sett-cli", CAFile: a.Getenv(env.RedisCAFile)})
		if err == nil && in.External {
			b, err = a.stillUp(ctx, in, b, now)
		}
		if !errors.Is(err, blackboard.ErrUnavailable) || ctx.Err() != nil {
			return b, err
		}
		if first {
			continue // it may have ended just after we looked
		}
		if !back.returns || !pause(wait) {
			return nil, a.noAnswer(in, back, err)
		}
		if !back.told {
			back.told = true
			a.sayf("sett: the blackboard of %s is being restarted, waiting for it\n", in.Name)
		}
	}
}

// standingBoard is what the units say of an instance's blackboard.
type standingBoard struct {
	none    bool // there are no units at all
	returns bool // it has ended, and is being started again; or was a moment ago
	started time.Time
	told    bool // people know
}

// lookAtBoard looks at the units of an instance. Its error says that it is not running.
func (a *app) lookAtBoard(ctx context.Context, in *instance, place place) (s standingBoard, err error) {
	units, err := place.List(ctx, runtime.Labels{runtime.LabelInstance: in.Name})
	if err != nil {
		return s, err
	}
	s.none = len(units) == 0
	if !slices.ContainsFunc(units, isPillar) && !(in.External && s.none) {
		return s, a.notRunning(in)
	}
	for _, u := range units {
		if u.Name == runtime.ComponentBlackboard {
			s.started = u.StartedAt
		}
	}
	s.returns = slices.Contains(in.returning(units), runtime.ComponentBlackboard)
	return s, nil
}

// after is what a look says that came after another.
func (s standingBoard) after(before standingBoard) standingBoard {
	restarted := !before.started.IsZero() && !s.started.Equal(before.started)
	s.returns, s.told = s.returns || before.returns || restarted, before.told
	return s
}

// stillUp closes the user's own blackboard where the instance was brought down: there
// are no units then, and the blackboard says why.
func (a *app) stillUp(ctx context.Context, in *instance, b *redis.Board, now standingBoard) (*redis.Board, error) {
	if !now.none {
		return b, nil
	}
	state, err := b.State(ctx)
	if err == nil && state == redis.InstanceStopping {
		err = a.notRunning(in)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// noAnswer is the error about a blackboard that should be there.
func (a *app) noAnswer(in *instance, s standingBoard, err error) error {
	switch {
	case in.External:
		return role.Fail(role.Environment, err, "is that server up? It is redis.url of "+configName)
	case s.returns:
		return role.Fail(role.Environment, fmt.Errorf("the blackboard of %s is being restarted by %s, again and again: %w", in.Name, in.restarter(), err), "%s", a.boardLog(in))
	}
	return role.Fail(role.Environment, err, "%s", a.boardLog(in))
}

// boardLog is what to type for what an instance's blackboard has logged.
func (a *app) boardLog(in *instance) string { return a.commandLine(in, "logs blackboard") }

// restarter is who brings back the parts of an instance.
func (in *instance) restarter() string {
	if in.Runtime == config.RuntimeDocker {
		return "the engine"
	}
	return "its keeper"
}

// returning are the parts that do not run and are being started again by themselves.
func (in *instance) returning(units []runtime.Unit) []string {
	var out []string
	keeper, running := false, map[string]bool{}
	for _, u := range units {
		switch {
		case u.Restarting:
			out = append(out, u.Name)
		case u.Running:
			running[u.Name] = true
			keeper = keeper || u.Labels[runtime.LabelComponent] == runtime.ComponentKeeper
		}
	}
	for _, part := range in.kept() {
		if keeper && !running[part] {
			out = append(out, part)
		}
	}
	return out
}

// kept are the parts that an instance's keeper keeps running.
func (in *instance) kept() []string {
	switch {
	case in.Runtime == config.RuntimeDocker && in.Host, in.Runtime != config.RuntimeDocker && in.External:
		return []string{runtime.ComponentOrchestrator}
	case in.Runtime == config.RuntimeDocker:
		return nil
	}
	return []string{runtime.ComponentBlackboard, runtime.ComponentOrchestrator}
}

// isPillar says whether a unit runs, or is just being started again, that brings the
// others back: where none does, the instance is not running, whatever else is left of it.
func isPillar(u runtime.Unit) bool {
	switch u.Labels[runtime.LabelComponent] {
	case runtime.ComponentBlackboard, runtime.ComponentOrchestrator, runtime.ComponentKeeper:
		return u.Running || u.Restarting
	}
	return false
}
