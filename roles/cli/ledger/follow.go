package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Follower follows the ledger and prints none of it. While the blackboard is
// away it goes on, with a message on stderr, as long as the instance is there.
type Follower struct {
	Goal string // that is waited for; empty: none

	at    *instance.Locator
	on    *term.Terminal
	in    *instance.Instance
	board *instance.Board

	mu      sync.Mutex
	watched bool      // a subscription notices when the blackboard is back
	lost    error     // the reason, while the blackboard is lost
	since   time.Time // it is
	stops   bool      // a sett down has been at work since
	told    bool      // that it is lost
	stopped bool      // that the instance was stopped
	refused bool      // that the blackboard refuses its user
}

// NewFollower returns a follower that reports interruptions on the terminal.
func NewFollower(at *instance.Locator, on *term.Terminal, in *instance.Instance, b *instance.Board) *Follower {
	return &Follower{at: at, on: on, in: in, board: b}
}

// lookEvery is the time between two looks at the instance while its blackboard is lost.
const lookEvery = 500 * time.Millisecond

// Follow hands on every entry after a position, until the context ends, each
// returns an error, or the instance is gone.
func (f *Follower) Follow(ctx context.Context, from string, each func(blackboard.Event) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f.watch(true)
	defer f.watch(false)
	ended := make(chan error, 2)
	lost := func(err error) { f.lose(ctx, err) }
	// A read that waits for entries outlasts short interruptions in silence, and
	// the end of its context for a while. The subscription notices both at once.
	go f.board.Watch(ctx, f.back, lost)
	go func() { ended <- role.Every(ctx, lookEvery, f.look) }()
	go func() {
		ended <- f.board.Ledger.Follow(ctx, from, func(e blackboard.Event) error {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return each(e)
		}, lost)
	}()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Patiently repeats a read while the blackboard is away: a command that waits for a
// goal does not give up for that, unless the instance is gone.
func (f *Follower) Patiently(ctx context.Context, read func() error) error {
	every := time.NewTicker(200 * time.Millisecond)
	defer every.Stop()
	for {
		err := read()
		if !errors.Is(err, blackboard.ErrUnavailable) {
			if !f.isWatched() {
				f.back()
			}
			return err
		}
		f.lose(ctx, err)
		if err := f.look(ctx); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
	}
}

func (f *Follower) watch(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watched = on
}

func (f *Follower) isWatched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.watched
}

// lose notes that the blackboard is lost, or that it answers and refuses its user.
func (f *Follower) lose(ctx context.Context, err error) {
	f.mu.Lock()
	if f.lost == nil {
		f.since = f.on.Now()
	}
	f.lost = err
	if denied := (*blackboard.DeniedError)(nil); errors.As(err, &denied) && !f.refused {
		f.refused, f.told = true, false
	}
	f.mu.Unlock()
	_ = f.look(ctx) // its error comes again
}

// back notes that the blackboard has returned.
func (f *Follower) back() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.told || f.stopped {
		f.on.Sayf("sett: blackboard is back\n")
	}
	f.lost, f.stops, f.told, f.stopped, f.refused = nil, false, false, false, false
}

// SaysStopped is said by a command that goes on after the next sett up.
func SaysStopped(in *instance.Instance) string {
	return in.Name + " was stopped (sett down); waiting for sett up"
}

// stopTime is how long a sett down may take before the reason is told for which the
// blackboard does not answer.
const stopTime = 15 * time.Second

// look says once, while the blackboard is lost, why it is waited for. The error: it is waited for in vain.
func (f *Follower) look(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lost == nil && !f.in.External || ctx.Err() != nil {
		return nil
	}
	fate := instance.FateOf(f.in)
	if err := Gone(f.at, f.in, fate, f.Goal); err != nil && (f.lost != nil || fate == instance.Removed) { // a server of the user's own outlasts its instance
		return err
	}
	if f.lost == nil {
		return nil
	}
	f.stops = f.stops || fate == instance.Ends
	switch {
	case fate == instance.Stopped:
		if !f.stopped {
			f.on.Sayf("sett: %s\n", SaysStopped(f.in))
		}
		f.stopped = true
	case f.told, f.stopped, f.stops && f.on.Now().Sub(f.since) < stopTime: // it is known, or will be soon
	default:
		f.told = true
		f.on.Sayf("sett: blackboard lost, waiting for it: %s\n", role.Clean(strings.ReplaceAll(f.lost.Error(), "\n", ": ")))
	}
	return nil
}

// Gone is the end of a command that waits for a goal, or (empty) for all, of an instance that cannot come back; nil: it can.
func Gone(at *instance.Locator, in *instance.Instance, fate instance.Fate, goal string) error {
	with := "; its ledger went with it"
	switch {
	case fate == instance.Removed && goal != "":
		with = fmt.Sprintf("; goal %s went with it", words.Short(goal))
	case fate == instance.Elsewhere:
		return role.Fail(role.NotFound, fmt.Errorf("instance %s has another blackboard since a sett up; the one that was followed does not answer", in.Name),
			"the same command again looks there")
	case fate != instance.Removed:
		return nil
	}
	hint := at.UpLine(in) + " begins a new one"
	if in.Known() {
		hint = at.CommandLine(in, "goals") + " shows those of the new one of that name"
	}
	return role.Fail(role.NotFound, fmt.Errorf("the instance %s was removed%s", in.Name, with), "%s", hint)
}
