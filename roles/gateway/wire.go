package gateway

import (
	"context"
	"errors"
	"io"

	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/roles/role"
)

// Run serves until the context ends.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("model-gateway", help); done {
		return err
	}
	settings, err := env.ParseGateway(e.Lookup)
	if err != nil {
		return role.Fail(role.Usage, err, "sett model-gateway --help")
	}
	m := newMetrics()
	if settings.Own {
		p := newPurse(e.Now)
		own := board{Account: p, Pending: p.pending, Ping: func(context.Context) error { return nil }, Reachable: role.NewReachable(e.Now, 0)}
		ctx, end := context.WithCancel(ctx)
		defer end()
		go func() { _, _ = io.Copy(io.Discard, e.Stdin); end() }() // it ends with the process that started it
		return errors.Join(run(ctx, e, settings, own, m), p.print(e.Stdout))
	}
	reachable := role.NewReachable(e.Now, settings.Redis.GiveUp)
	b, err := redis.Open(ctx, redis.Options{
		URL: settings.Redis.URL, Instance: settings.Instance, Name: "model-gateway",
		Timeout: settings.Redis.Timeout, Retries: settings.Redis.BoardRetries(), CAFile: settings.Redis.CAFile, Observe: reachable.Observing(m.Called),
	})
	if err != nil {
		return role.NotOpened(err, role.LookAtURL)
	}
	defer b.Close()
	return run(ctx, e, settings, board{Account: b.Calls, Pending: b.Calls.Pending, Ping: b.Ping, Reachable: reachable}, m)
}
