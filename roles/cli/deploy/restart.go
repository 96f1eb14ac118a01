package deploy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/runtime"
)

// Restart stops an agent's cub, the notifier, the repository or the model gateway, which the orchestrator then starts
// again, and waits until it is ready.
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
	known := append(cfg.Names(), instance.Restartable(cfg)...)
	agent, ok := cfg.Agent(name)
	if slices.Contains([]string{runtime.ComponentOrchestrator, runtime.ComponentKeeper, runtime.ComponentBlackboard}, name) {
		return role.Fail(role.Usage, fmt.Errorf("the %s of %s is not restarted alone: all other parts need it", name, in.Name), "%s, then %s", at.CommandLine(in, "down"), at.UpLine(in))
	}
	if !slices.Contains(known, name) {
		return role.Fail(role.NotFound, fmt.Errorf("no agent %s in instance %s", role.Clean(name), in.Name), "%s",
			words.DidYouMean(name, known, ""))
	}
	place, err := at.Place(ctx, in)
	if err != nil {
		return err
	}
	units, err := place.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if !runs(units) {
		return role.Fail(role.Failed, fmt.Errorf("%s is not restarted: the orchestrator of %s does not run, which would start it again", role.Clean(name), in.Name), "%s", at.UpLine(in))
	}
	if err := b.Control.Restart(ctx, at.NewID(), name, agent.Name, at.Who()); err != nil {
		return err
	}
	began := at.Now()
	ctx, cancel := role.WithLimit(ctx, timeout, errTooLong)
	defer cancel()
	if ok {
		err = renew(ctx, b, place, agent)
	} else {
		answers := in.RepositoryAnswers
		switch name {
		case runtime.ComponentNotifier:
			answers = func(ctx context.Context) bool { return notifierAnswers(ctx, b, place) }
		case runtime.ComponentModelGateway:
			answers = func(ctx context.Context) bool { return instance.GatewayAnswers(ctx, in) }
		}
		err = renewPart(ctx, b, place, name, answers)
	}
	if err != nil && errors.Is(context.Cause(ctx), errTooLong) {
		return role.Fail(role.TimedOut, fmt.Errorf("%s is not ready after %s", name, timeout), "sett logs %s", name)
	}
	if err != nil {
		return err
	}
	at.Printf("%s restarted  %s\n", name, words.Span(at.Now().Sub(began)))
	return nil
}

// notifierAnswers says whether the notifier that runs follows the ledger.
func notifierAnswers(ctx context.Context, b *instance.Board, place instance.Place) bool {
	said, err := b.Ledger.Notifier(ctx)
	if err != nil {
		return false
	}
	units, err := place.List(ctx, runtime.Labels{runtime.LabelComponent: runtime.ComponentNotifier})
	return err == nil && len(units) == 1 && units[0].Labels[runtime.LabelIncarnation] == said.Incarnation
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
		if p.Incarnation != before[agent.Name].Incarnation && len(units) == 1 && instance.StateOf(units[0], p, at, false).Answers() {
			return nil
		}
	}
	return ctx.Err()
}

// renewPart stops a part that the orchestrator keeps, and returns when a new one answers.
func renewPart(ctx context.Context, b *instance.Board, place instance.Place, name string, answers func(context.Context) bool) error {
	its := runtime.Labels{runtime.LabelComponent: name}
	before, err := place.List(ctx, its)
	if err != nil {
		return fmt.Errorf("list what runs: %w", err)
	}
	if err := place.Stop(ctx, name, orchestratorGrace); err != nil {
		return err
	}
	if err := b.Control.Nudge(ctx); err != nil {
		return err
	}
	for instance.Tick(ctx) {
		now, err := place.List(ctx, its)
		if err != nil {
			return fmt.Errorf("list what runs: %w", err)
		}
		if len(now) == 1 && now[0].Running && (len(before) == 0 || now[0].ID != before[0].ID) && answers(ctx) {
			return nil
		}
	}
	return ctx.Err()
}
