package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/roles/role"
	"sett/runtime"
)

type restartCmd struct {
	Agent   string        `arg:"" help:"The agent's name in sett.yml."`
	Timeout time.Duration `default:"60s" placeholder:"DURATION" help:"How long it may take until it is ready again; 0 for as long as it takes (default 60s)."`
}

// Help is shown by `sett restart --help`.
func (restartCmd) Help() string {
	return `Stops one agent and starts it again, and waits until it is ready. A running tool gets
its grace period. For changes in sett.yml, sett up is enough.

Example: sett restart example-agent`
}

// Run restarts the agent: its cub is stopped here, and started again by the
// orchestrator, which keeps it running.
func (c *restartCmd) Run(a *app) error {
	b, in, done, err := a.board(a.ctx)
	if err != nil {
		return err
	}
	defer done()
	cfg, err := in.config()
	if err != nil {
		return err
	}
	agent, ok := cfg.Agent(c.Agent)
	if !ok {
		return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", clean(c.Agent), in.Name), "%s",
			didYouMean(c.Agent, cfg.Names(), ""))
	}
	place, err := a.place(a.ctx, in)
	if err != nil {
		return err
	}
	began := a.Now()
	ctx, cancel := bounded(a.ctx, c.Timeout, errTooLong)
	defer cancel()
	if err := restart(ctx, b, place, agent); err != nil {
		if errors.Is(context.Cause(ctx), errTooLong) {
			return role.Fail(role.TimedOut, fmt.Errorf("agent %s is not ready after %s", agent.Name, c.Timeout), "sett logs %s", agent.Name)
		}
		return err
	}
	a.printf("%s restarted  %s\n", agent.Name, span(a.Now().Sub(began)))
	return nil
}

// restart returns when a new incarnation of the agent is ready.
func restart(ctx context.Context, b *redis.Board, place place, agent config.Agent) error {
	before, err := b.Agents(ctx)
	if err != nil {
		return err
	}
	if err := place.Stop(ctx, runtime.AgentUnit(agent.Name), agent.Grace+3*time.Second); err != nil {
		return err
	}
	if err := b.Nudge(ctx); err != nil {
		return err
	}
	for pause(ctx) {
		now, err := b.Agents(ctx)
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
		if p.Incarnation != before[agent.Name].Incarnation && len(units) == 1 && units[0].Running && isPresent(p, units[0], at) {
			return nil
		}
	}
	return ctx.Err()
}
