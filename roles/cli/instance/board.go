package instance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

// Board opens the blackboard of the instance that Find returns. The caller calls
// done when it no longer needs the board.
func (l *Locator) Board(ctx context.Context) (b *Board, in *Instance, done func(), err error) {
	in, err = l.Find()
	if err != nil {
		return nil, nil, nil, err
	}
	b, err = l.open(ctx, in)
	if err != nil {
		return nil, in, nil, err
	}
	if err := CheckBoard(ctx, l, in, b); err != nil {
		b.Close()
		return nil, in, nil, err
	}
	return b, in, b.Close, nil
}

// BoardToFill is Board for an import, which brings back a ledger that is gone.
func BoardToFill(ctx context.Context, l *Locator) (b *Board, in *Instance, gone bool, done func(), err error) {
	if in, err = l.Find(); err != nil {
		return nil, nil, false, nil, err
	}
	if b, err = l.open(ctx, in); err != nil {
		return nil, in, false, nil, err
	}
	err = CheckBoard(ctx, l, in, b)
	if gone = isEmptied(err); err != nil && !gone {
		b.Close()
		return nil, in, false, nil, err
	}
	return b, in, gone, b.Close, nil
}

// BoardToExport is Board that also opens a ledger without entries that were seen before. The lack is returned.
func BoardToExport(ctx context.Context, l *Locator) (b *Board, in *Instance, lacks *blackboard.LostError, done func(), err error) {
	if in, err = l.Find(); err != nil {
		return nil, nil, nil, nil, err
	}
	if b, err = l.open(ctx, in); err != nil {
		return nil, in, nil, nil, err
	}
	err = CheckBoard(ctx, l, in, b)
	if errors.As(err, &lacks) && lacks.Loss == blackboard.LossOlder {
		return b, in, lacks, b.Close, nil
	}
	if err != nil {
		b.Close()
		return nil, in, nil, nil, err
	}
	return b, in, nil, b.Close, nil
}

// leastPatience is the least time that a blackboard gets to answer, even if the
// command's own limit is shorter.
const leastPatience = 2 * time.Second

// BoardWithin is Board with a limit of time; 0: no limit.
func (l *Locator) BoardWithin(ctx context.Context, limit time.Duration) (b *Board, in *Instance, done func(), err error) {
	if limit <= 0 {
		return l.Board(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, max(limit, leastPatience))
	defer cancel()
	b, in, done, err = l.Board(limited)
	if err != nil && in != nil && limited.Err() != nil && ctx.Err() == nil {
		err = role.Fail(role.TimedOut, fmt.Errorf("%s was not enough: the blackboard does not answer", limit), "sett list, %s", l.boardCure(in, err))
	}
	return b, in, done, err
}

// comeback is how long a command waits for a blackboard of sett's own that has ended
// and is being restarted. The command then succeeds instead of failing by chance.
const comeback = 8 * time.Second

// open opens the blackboard of an instance. An instance that does not run gives exit
// code 3, also if its blackboard is the user's own server. A blackboard that should run
// and does not answer is a fault of the environment: exit code 7.
func (l *Locator) open(ctx context.Context, in *Instance) (*Board, error) {
	place, err := l.Place(ctx, in)
	if err != nil {
		return nil, err
	}
	wait, cancel := context.WithTimeout(ctx, comeback)
	defer cancel()
	var back standingBoard
	for first := true; ; first = false {
		now, err := l.lookAtBoard(ctx, in, place)
		if err != nil {
			return nil, err
		}
		back = now.after(back)
		b, err := connect(ctx, l, in, first)
		if err == nil && in.External {
			b, err = l.stillUp(ctx, in, b, now)
		}
		if !errors.Is(err, blackboard.ErrUnavailable) || ctx.Err() != nil {
			return b, err
		}
		if first && wait.Err() == nil {
			continue // it may have ended just after lookAtBoard
		}
		if !back.returns || !Tick(wait) {
			return nil, l.noAnswer(in, back, err)
		}
		if !back.told {
			back.told = true
			l.Sayf("sett: the blackboard of %s is being restarted, waiting for it\n", in.Name)
		}
	}
}

// silence is how long a command waits for the blackboard before it says so.
const silence = 3 * time.Second

// connect connects to the blackboard. When that takes long it says so, once.
func connect(ctx context.Context, l *Locator, in *Instance, says bool) (b *Board, err error) {
	connected := make(chan struct{})
	go func() {
		defer close(connected)
		to := To(l.Terminal, in, "sett-cli")
		to.Find = func() string { return movedTo(in) }
		b, err = Connect(ctx, to)
	}()
	select {
	case <-connected:
	case <-time.After(silence):
		if says {
			l.Sayf("sett: the blackboard of %s does not answer, waiting for it\n", in.Name)
		}
		<-connected
	}
	return b, err
}

// standingBoard is the state of an instance's blackboard, as its units show it.
type standingBoard struct {
	none    bool // there are no units at all
	returns bool // it is being restarted, or was a moment ago
	started time.Time
	told    bool // the user has been told about the restart
}

// lookAtBoard reads the state of the blackboard from the instance's units. It fails if
// the instance does not run.
func (l *Locator) lookAtBoard(ctx context.Context, in *Instance, place Place) (s standingBoard, err error) {
	units, err := place.List(ctx, runtime.Labels{runtime.LabelInstance: in.Name})
	if err != nil {
		return s, err
	}
	s.none = len(units) == 0
	if !slices.ContainsFunc(units, isPillar) && !(in.External && s.none) {
		return s, l.notRunning(in)
	}
	for _, u := range units {
		if u.Name == runtime.ComponentBlackboard {
			s.started = u.StartedAt
		}
	}
	s.returns = slices.Contains(in.Returning(units), runtime.ComponentBlackboard)
	return s, nil
}

// after adds to a state the knowledge of an earlier one: a restart seen then, or a new
// time of start since.
func (s standingBoard) after(before standingBoard) standingBoard {
	restarted := !before.started.IsZero() && !s.started.Equal(before.started)
	s.returns, s.told = s.returns || before.returns || restarted, before.told
	return s
}

// stillUp closes the user's own blackboard and fails if the instance was stopped: it has
// no units then, and the blackboard's state is stopping.
func (l *Locator) stillUp(ctx context.Context, in *Instance, b *Board, now standingBoard) (*Board, error) {
	if !now.none {
		return b, nil
	}
	state, err := b.State(ctx)
	if err == nil && state == blackboard.InstanceStopping {
		err = l.notRunning(in)
	}
	if err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// noAnswer is the error about a blackboard that should run and does not answer.
func (l *Locator) noAnswer(in *Instance, s standingBoard, err error) error {
	hint := l.boardCure(in, err)
	if s.returns && !in.External {
		err = fmt.Errorf("the blackboard of %s is being restarted by %s, again and again: %w", in.Name, in.Restarter(), err)
	}
	return role.Fail(role.Environment, err, "%s", hint)
}

// boardCure is the hint about an instance's blackboard that does not answer. Only one of Sett's own has a log.
func (l *Locator) boardCure(in *Instance, err error) string {
	return cmp.Or(Cure(in, err), l.CommandLine(in, "logs blackboard"))
}

// Restarter names the program that restarts the parts of an instance.
func (in *Instance) Restarter() string {
	if in.Runtime == config.RuntimeDocker {
		return "the engine"
	}
	return "its keeper"
}

// Returning returns the parts that do not run and that the engine or the keeper is
// restarting.
func (in *Instance) Returning(units []runtime.Unit) []string {
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

// kept returns the parts that an instance's keeper restarts.
func (in *Instance) kept() []string {
	switch {
	case in.Runtime == config.RuntimeDocker && in.Host, in.Runtime != config.RuntimeDocker && in.External:
		return []string{runtime.ComponentOrchestrator}
	case in.Runtime == config.RuntimeDocker:
		return nil
	}
	return []string{runtime.ComponentBlackboard, runtime.ComponentOrchestrator}
}

// isPillar says whether a unit is the blackboard, the orchestrator or the keeper, and
// runs or is being restarted. An instance without such a unit is not running, even if
// other units are left.
func isPillar(u runtime.Unit) bool {
	switch u.Labels[runtime.LabelComponent] {
	case runtime.ComponentBlackboard, runtime.ComponentOrchestrator, runtime.ComponentKeeper:
		return u.Running || u.Restarting
	}
	return false
}
