package cub

// This file chooses the store of the blackboard, and the way to the repository.

import (
	"context"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/env"
	"sett/roles/cub/once"
	"sett/roles/cub/toolrun"
	"sett/roles/role"
	line "sett/roles/role/repository"
)

// Run is the role's whole life.
func Run(ctx context.Context, e role.Env) error { return RunWith(ctx, e, toolrun.New()) }

// RunWith is Run with another way to run tools.
func RunWith(ctx context.Context, e role.Env, runner toolrun.Runner) error {
	if role.WantsHelp(e.Args) {
		_, err := fmt.Fprint(e.Stdout, Help)
		return err
	}
	if len(e.Args) == 2 && e.Args[0] == once.Flag {
		return runOnce(ctx, e, runner)
	}
	settings, err := env.ParseCub(e.Lookup)
	if err != nil {
		return role.Fail(role.Usage, err, "see sett cub --help for the settings of a cub")
	}
	if settings.Command, err = toolrun.OwnProgram(settings.Command); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	s := &state{env: e, settings: settings, mode: standard, runner: runner, metrics: newMetrics()}
	if err := s.chooseMode(); err != nil {
		return err
	}
	if settings.Incarnation == "" {
		s.settings.Incarnation = e.NewID()
	}
	s.log = e.Logger("cub").With("instance", settings.Instance, "agent", settings.Agent)
	s.program.Command = toolrun.Command{Args: settings.Command, Dir: settings.Workspace, Env: e.Environ()}
	if settings.Mode != blackboard.NoWorkspace {
		s.program.Changing = settings.Workspace
	}
	go s.program.Digest() // while the blackboard is being connected
	s.protect()
	s.reachable = role.NewReachable(e.Now, settings.Redis.GiveUp)
	b, err := redis.Open(ctx, redis.Options{
		URL: settings.Redis.URL, Instance: settings.Instance, Name: redis.CubName(settings.Agent),
		Timeout: settings.Redis.Timeout, Retries: settings.Redis.BoardRetries(), CAFile: settings.Redis.CAFile,
		Mark:    settings.Redis.Mark,
		Observe: s.reachable.Observing(s.metrics.registry.Called),
	})
	if err != nil {
		return role.NotOpened(err, role.LookAtURL)
	}
	defer b.Close()
	s.board = boardOn(b, settings.Agent)
	s.metrics.watch(s)
	var ask func(tree string) trees
	if settings.Mode != blackboard.NoWorkspace {
		ask = func(tree string) trees {
			return line.NewClient(settings.RepositoryURL, settings.Agent, tree, settings.TreeToken)
		}
	}
	return newCub(s, ask).serve(ctx)
}

// runOnce runs one program in a container, for sett try. There is nothing to keep from it.
func runOnce(ctx context.Context, e role.Env, runner toolrun.Runner) error {
	toolrun.Fortify()
	if err := toolrun.BecomeReaper(); err != nil {
		return role.Fail(role.Environment, err, "")
	}
	go toolrun.ReapOrphans(ctx)
	return once.Run(ctx, e, runner, e.Args[1])
}

// boardOn returns an agent's part of the blackboard.
func boardOn(b *redis.Board, agent string) board {
	return board{
		presence: b.Cub, work: b.Cub, records: b.Records,
		submitBids: b.Cub.SubmitBids,
		openWork:   b.Index.OpenAgentWork, assignment: b.Roster.Assignment,
		ping: b.Ping, raiseBudget: b.Cub.RaiseBudget, withhold: b.Cub.Withhold, spending: b.Calls.Spending, calls: b.Calls.Pending,
		paused: b.Calls.Paused,
		listen: func(ctx context.Context, topics []topic, ready func(), notice func(topic, string), lost func(error)) error {
			channels := make([]redis.Channel, len(topics))
			for i, t := range topics {
				channels[i] = channelOf(t, agent)
			}
			return b.Subscribe(ctx, channels, ready, func(ch redis.Channel, id string) {
				for i := range channels {
					if ch.Is(channels[i]) {
						notice(topics[i], id)
					}
				}
			}, lost)
		},
	}
}

// channelOf returns the channel of a topic.
func channelOf(t topic, agent string) redis.Channel {
	switch t {
	case grantTopic:
		return redis.AgentEvents(agent)
	case assignmentTopic:
		return redis.StandbyEvents(agent)
	}
	return redis.ClaimTargets
}
