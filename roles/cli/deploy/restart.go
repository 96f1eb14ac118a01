package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
)

// Restart stops an agent's cub, which the orchestrator then starts again, and waits until
// it is ready.
func Restart(ctx context.Context, at *instance.Locator, name string, timeout time.Duration) error {
	b, in, done, err := at.Board(ctx)
	if err != nil {
		return err
	}
	defer done()
	cfg, err := in.Config()
	if err != nil {
		return err
	}
	agent, ok := cfg.Agent(name)
	if !ok {
		return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", role.Clean(name), in.Name), "%s",
			words.DidYouMean(name, cfg.Names(), ""))
	}
	place, err := at.Place(ctx, in)
	if err != nil {
		return err
	}
	began := at.Now()
	ctx, cancel := role.WithLimit(ctx, timeout, errTooLong)
	defer cancel()
	if err := renew(ctx, b, place, agent); err != nil {
		if errors.Is(context.Cause(ctx), errTooLong) {
			return role.Fail(role.TimedOut, fmt.Errorf("agent %s is not ready after %s", agent.Name, timeout), "sett logs %s", agent.Name)
		}
		return err
	}
	at.Printf("%s restarted  %s\n", agent.Name, words.Span(at.Now().Sub(began)))
	return nil
}

// renew stops the agent and returns when a new incarnation of it is ready.
func renew(ctx context.Context, b *instance.Board, place instance.Place, agent config.Agent) error {
	before, err := b.Roster.Agents(ctx)
	if err != nil {
		return err
	}
	if err := place.Stop(ctx, runtime.AgentUnit(agent.Name), agent.Grace+3*time.Second); err != nil {
		return err
	}
	if err := b.Control.Nudge(ctx); err != nil {
		return err
	}
	for instance.Tick(ctx) {
		now, err := b.Roster.Agents(ctx)
		if err != nil {
			return err
		}
		at, err := b.ServerTime(ctx)
		if err != nil {
			return err
		}
		units, err := place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentAgent, runtime.LabelAgent: agent.Name})
		if err != nil {
			return fmt.Errorf("list what runs: %w", err)
		}
		p := now[agent.Name]
		if p.Incarnation != before[agent.Name].Incarnation && len(units) == 1 && units[0].Running && instance.IsPresent(p, units[0], at) {
			return nil
		}
	}
	return ctx.Err()
}
