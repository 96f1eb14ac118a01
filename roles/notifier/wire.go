// Package notifier is the role that tells people: it follows the ledger and runs the
// user's command, with one JSON event on its stdin, when a question is asked, when a
// gate holds an artefact, when a result cannot land or a bid cannot be made until a person acts, and when a
// workflow ends.
//
// Each event is told at least once, one at a time and in the ledger's order. The
// position of the last event is stored on the blackboard after the command succeeded,
// so that a notifier that was killed repeats only the event in flight. It decides and
// answers nothing; the agents know nothing of it.
//
// It is a unit of its own beside the agents, with the same walls: its command is a file
// of the workspace, which agents can change. On the host the command would be a way out
// of their containers.
package notifier

import (
	"context"
	"time"

	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
)

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
	b, err := redis.Open(ctx, redis.Options{
		URL: settings.Redis.URL, Instance: settings.Instance, Name: "notifier",
		Timeout: settings.Redis.Timeout, Retries: settings.Redis.BoardRetries(), CAFile: settings.Redis.CAFile,
		Observe: func(_ time.Duration, lost bool) { n.reachable.Tried(lost) },
	})
	if err != nil {
		return role.NotOpened(err, role.LookAtURL)
	}
	defer b.Close()
	n.board = board{records: b.Records, ledger: b.Ledger, open: b.Index.WaitsForHuman, serverTime: b.ServerTime, ping: b.Ping}
	return n.serve(ctx)
}
