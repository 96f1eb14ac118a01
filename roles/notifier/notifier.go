// Package notifier is the role that tells people: it follows the ledger and runs a
// command of the user's, with one JSON event on its stdin, when a question is
// asked, when a gate holds something, and when a workflow ends.
//
// Each event is told at least once, one at a time and in the ledger's order. How
// far it got is stored on the blackboard after the command succeeded, so that a
// notifier that was killed repeats the event in flight and no other. It decides
// nothing and answers nothing; the agents know nothing of it.
//
// It is a unit of its own beside the agents, and as much enclosed as they are,
// since its command is a file of the workspace, which agents can change: run on the
// host, it would be a way out of their containers.
package notifier

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/oklog/run"

	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

// Help is the role's help page.
const Help = `Usage: sett notifier

Runs a command with one JSON event on its stdin when a question is asked, when a
gate holds an artefact for approval, and when a workflow ends: once for each event
at least, one after another. What it prints goes to the log. A command that fails
is run again, three times at most.

It is started by the orchestrator where sett.yml has "notify", and configured by
environment variables:

  SETT_INSTANCE_NAME     the instance's name (required)
  REDIS_URL              the blackboard: redis://[user:password@]host:port[/db] (required)
  SETT_NOTIFY_COMMAND    the command, a JSON array: ["bin/notify"] (required)
  SETT_NOTIFY_TIMEOUT    of one run of it; default 30s
  SETT_WORKSPACE         its directory, where the repository is; default /workspace
  SETT_NOTIFY_WORKSPACE  the repository's path as people know it; default: the same
  SETT_REDIS_TIMEOUT, SETT_REDIS_RETRIES, SETT_REDIS_GIVE_UP, SETT_REDIS_CA_FILE
  SETT_LOG_FORMAT        json or text
  SETT_LOG_LEVEL         debug, info, warn or error

The first signal (INT or TERM) lets a running command finish for a moment; the
second ends it, and its event is told again at the next start.

` + role.CodesHelp + "\n"

// pace is how patiently the notifier does things. Tests that cannot wait pass
// their own.
type pace struct {
	again  []time.Duration // pauses before a command that failed is run again
	window time.Duration   // what is older at the very first start is no news
	touch  time.Duration   // the blackboard is asked so often whether it is there
	grace  time.Duration   // for a running command when the notifier is told to stop
	stride int             // so many entries that tell nothing, and the position is stored
}

func usualPace() pace {
	return pace{
		again:  []time.Duration{time.Second, 4 * time.Second, 16 * time.Second},
		window: time.Hour, touch: 2 * time.Second, grace: 5 * time.Second, stride: 1000,
	}
}

// notifier is the role's state while the process lives.
type notifier struct {
	env       role.Env
	settings  env.Notifier
	pace      pace
	log       *slog.Logger
	board     *redis.Board
	runner    toolrun.Runner
	reachable *role.Reachable
	passed    int // entries since the position was stored
}

// Run is the role's whole life.
func Run(ctx context.Context, e role.Env) error { return runWith(ctx, e, usualPace()) }

func runWith(ctx context.Context, e role.Env, p pace) error {
	if done, err := e.Arguments("notifier", Help); done {
		return err
	}
	settings, err := env.ParseNotifier(e.Lookup)
	if err != nil {
		return role.Fail(role.Usage, err, "see sett notifier --help for what it is started with")
	}
	n := &notifier{env: e, settings: settings, pace: p, runner: toolrun.New(), reachable: role.NewReachable(e.Now, settings.Redis.GiveUp)}
	n.log = e.Logger("notifier").With("instance", settings.Instance)
	n.protect()
	n.board, err = redis.Open(ctx, redis.Options{
		URL: settings.Redis.URL, Instance: settings.Instance, Name: "notifier",
		Timeout: settings.Redis.Timeout, Retries: settings.Redis.BoardRetries(), CAFile: settings.Redis.CAFile,
	})
	if err != nil {
		return role.Fail(role.Environment, err, "is the blackboard running, and REDIS_URL right?")
	}
	defer n.board.Close()
	return n.serve(ctx)
}

// protect keeps the blackboard's credentials from the command, and makes this
// process the parent of whatever that leaves behind, as a cub does with its tool.
func (n *notifier) protect() {
	toolrun.Fortify()
	if err := errors.Join(toolrun.ScrubEnv(env.Secret...), toolrun.Protect()); err != nil {
		n.log.Warn("credentials less protected than they could be", "error", err)
	}
	if err := toolrun.BecomeReaper(); err != nil {
		n.log.Warn("processes that leave the command's session may stay behind", "error", err)
	}
}

// serve runs the actors; the first to return stops all.
func (n *notifier) serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	add := func(f func(context.Context) error) {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	add(func(ctx context.Context) error { toolrun.ReapOrphans(ctx); return ctx.Err() })
	add(n.keepInTouch)
	add(n.follow)
	n.log.Info("notifier started", "command", n.settings.Command, "pid", os.Getpid())
	err := g.Run()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	n.log.Info("notifier stopped", "error", err)
	return err
}

// keepInTouch knows whether the blackboard is there, also while nothing happens,
// and gives up when it has been away for too long.
func (n *notifier) keepInTouch(ctx context.Context) error {
	return role.Every(ctx, n.pace.touch, func(ctx context.Context) error {
		err := n.board.Ping(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return n.reachable.Lost(err)
		}
		n.reachable.Back()
		return nil
	})
}
