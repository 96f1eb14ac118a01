package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"sett/contract/config"
)

// patient is an agent whose health is asked for, and what was heard so far.
type patient struct {
	incarnation string
	next        time.Time
	answered    bool // once: so it can be asked from here
	failures    int  // in a row
}

// askHealth asks the agents of which sett.yml has a health_check for theirs, at
// the cub's own /healthz: it takes no program in the image. An agent that fails
// as often as sett.yml allows is ended, and so started anew. It says nothing of
// agents that have no health_check: their heartbeats are watched.
func (a *agents) askHealth(ctx context.Context) {
	patients := map[string]*patient{}
	every := time.NewTicker(a.pace.askHealth)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for _, agent := range a.clan.get().Agents {
			if agent.HealthCheck == nil {
				continue
			}
			a.aside(ctx, func() func() { return func() { a.ask(ctx, agent, patients) } })
		}
	}
}

// ask has an agent asked, if it is time. It has the agents' state to itself.
func (a *agents) ask(ctx context.Context, agent config.Agent, patients map[string]*patient) {
	k, now := a.of(agent.Name), a.env.Now()
	if k == nil || !k.is(k.incarnation) {
		return
	}
	p := patients[agent.Name]
	if p == nil || p.incarnation != k.incarnation {
		p = &patient{incarnation: k.incarnation, next: now.Add(agent.HealthCheck.Interval)}
		patients[agent.Name] = p
	}
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(agent.HealthCheck.Interval)
	address, started := k.address, k.started
	a.aside(ctx, func() func() {
		err := a.probe(ctx, agent, address)
		steady := a.reachable.SteadySince()
		return func() {
			agent, _ := a.clan.get().Agent(agent.Name)
			if ctx.Err() != nil || agent.HealthCheck == nil || !a.of(agent.Name).is(p.incarnation) {
				return // who was asked is another by now, or nobody wants to know any more
			}
			a.heard(ctx, agent, p, err, latest(steady, started), !steady.IsZero())
		}
	})
}

// heard judges an answer by for how long the agent and the blackboard have been there,
// if the blackboard is: without one nobody is well, and nobody is to blame.
func (a *agents) heard(ctx context.Context, agent config.Agent, p *patient, err error, since time.Time, fair bool) {
	check := agent.HealthCheck
	switch {
	case errors.Is(err, errNotAsked):
	case err == nil:
		p.answered, p.failures = true, 0
		a.metrics.healthy.WithLabelValues(agent.Name).Set(1)
	case !fair || a.env.Now().Sub(since) < check.StartPeriod+check.Interval:
	case !p.answered:
		a.log.Warn("health of an agent cannot be asked for", "agent", agent.Name, "error", err)
	default:
		p.failures++
		a.metrics.healthy.WithLabelValues(agent.Name).Set(0)
		a.log.Warn("agent is unhealthy", "agent", agent.Name, "error", err, "times", p.failures, "of", check.Retries)
		if p.failures >= check.Retries {
			a.endSilent(ctx, suspect{agent: agent.Name, incarnation: p.incarnation}, fmt.Sprintf("unhealthy %d times: %v", p.failures, err))
		}
	}
}

// probe asks once.
func (a *agents) probe(ctx context.Context, agent config.Agent, address string) error {
	present, err := a.board.Agents(ctx)
	if err != nil {
		return errNotAsked
	}
	if address == "" {
		if address, err = a.container(ctx, agent, present[agent.Name].Incarnation); err != nil {
			return err
		}
	}
	at, err := healthAddress(present[agent.Name], address)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, agent.HealthCheck.Timeout)
	defer cancel()
	status, body, err := a.fetch(ctx, at, healthPath, mostHealth)
	if err != nil {
		return err
	}
	if status != http.StatusOK {
		return fmt.Errorf("it says %d %s: %.300s", status, http.StatusText(status), strings.TrimSpace(string(body)))
	}
	return nil
}
