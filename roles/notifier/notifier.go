package notifier

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"sett/blackboard"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// Help is the role's help page.
const Help = `Run a command when a question, an approval or a goal's end wants a person.

Usage: sett notifier

The command gets one JSON event on its stdin when a question is asked, when a
gate holds an artefact for approval, when a landing, a bid or an agent's work
waits for a person, and when a workflow ends: each event at least once, one
after another. Its output goes to the log. If it fails it runs again after a
second, later after a minute, and the events after it wait; after three days the
event is given up, and at once if the command ends with exit code 65: it will
never take this event.

The orchestrator starts it where sett.yml has "notify". Environment:

  SETT_INSTANCE_NAME     the instance's name (required)
  REDIS_URL              the blackboard (required):
                         redis://[user:password@]host:port[/db]
  SETT_NOTIFY_COMMAND    the command, a JSON array: ["bin/notify"] (required)
  SETT_NOTIFY_TIMEOUT    of one run of it; default 30s
  SETT_WORKSPACE         its directory, the repository; default /workspace
  SETT_NOTIFY_WORKSPACE  the repository's path for people; default: the same
  SETT_REDIS_TIMEOUT, SETT_REDIS_RETRIES, SETT_REDIS_GIVE_UP, SETT_REDIS_CA_FILE
  SETT_LOG_FORMAT        json or text
  SETT_LOG_LEVEL         debug, info, warn or error

The first signal (INT or TERM) lets a running command finish for a moment; the
second ends it, and its event is told again at the next start.

Exit codes: sett --help
`

// pace is the timing of a notifier. Tests that cannot wait pass their own.
type pace struct {
	again  []time.Duration // pauses before a command that failed is run again; the last one repeats
	keep   time.Duration   // an older event is given up, after all these pauses
	window time.Duration   // older events are not told at the very first start
	touch  time.Duration   // between looks whether the blackboard is there
	grace  time.Duration   // of a running command when the notifier is told to stop
	stride int             // the position is stored after so many entries without an event
}

func usualPace() pace {
	return pace{
		again: []time.Duration{time.Second, 4 * time.Second, 16 * time.Second, time.Minute},
		keep:  3 * 24 * time.Hour, window: time.Hour, touch: 2 * time.Second, grace: 5 * time.Second, stride: 1000,
	}
}

// board is the part of the blackboard that the notifier uses.
type board struct {
	records
	ledger
	open       func(ctx context.Context, id string) (bool, error) // whether a question or a gate still waits for a person
	serverTime func(ctx context.Context) (time.Time, error)
	ping       func(ctx context.Context) error
}

type records interface {
	Workflow(ctx context.Context, id string) (blackboard.Workflow, error)
	Artefact(ctx context.Context, id string) (blackboard.Artefact, error)
	Claims(ctx context.Context, ids []string) ([]blackboard.Claim, error)
	Snapshot(ctx context.Context, claim string) (blackboard.Snapshot, error)
}

type ledger interface {
	Follow(ctx context.Context, from string, each func(blackboard.Event) error, lost func(error)) error
	Notified(ctx context.Context) (position string, err error)
	SetNotified(ctx context.Context, position string) error
	Notifier(ctx context.Context) (blackboard.Notifier, error)
	SetNotifier(ctx context.Context, said blackboard.Notifier) error
}

// notifier is the role's state while the process lives.
type notifier struct {
	env       role.Env
	settings  env.Notifier
	pace      pace
	log       *slog.Logger
	board     board
	runner    toolrun.Runner
	reachable *role.Reachable
	state     state
	passed    int // entries since the position was stored
}

// protect keeps the blackboard's credentials from the command, and makes this process
// the parent of all processes that the command leaves behind, as a cub does with its
// tool.
func (n *notifier) protect() {
	toolrun.Fortify()
	if err := errors.Join(role.ScrubEnv(env.Secret...), toolrun.Protect()); err != nil {
		n.log.Warn("credentials less protected than they could be", "error", err)
	}
	if err := toolrun.BecomeReaper(); err != nil {
		n.log.Warn("processes that leave the command's session may stay behind", "error", err)
	}
}

// serve runs the actors; the first to return stops all.
func (n *notifier) serve(ctx context.Context) error {
	n.log.Info("notifier started", "command", n.settings.Command, "pid", os.Getpid())
	reap := func(ctx context.Context) error { toolrun.ReapOrphans(ctx); return ctx.Err() }
	err := role.Together(ctx, reap, n.keepInTouch, n.follow)
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	n.log.Info("notifier stopped", "error", err)
	return err
}

// keepInTouch asks the blackboard for a sign of life, also while nothing happens, and
// gives up when it has been away for too long. A command that was installed, or removed,
// it mentions.
func (n *notifier) keepInTouch(ctx context.Context) error {
	return role.Every(ctx, n.pace.touch, func(ctx context.Context) error {
		soon, done := n.reachable.Bounded(ctx)
		err := n.board.ping(soon)
		done()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return n.reachable.Lost(err)
		}
		n.reachable.Back()
		n.mention(ctx, func(s *blackboard.Notifier) { s.Unfit = n.unfit() })
		return nil
	})
}
