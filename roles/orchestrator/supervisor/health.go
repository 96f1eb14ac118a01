package supervisor

import (
	"context"
	"fmt"
	"time"

	"sett/contract/config"
	"sett/runtime"
)

// Prober asks an agent's cub for its health, at the known address of its container if
// there is one. Without an address to ask, asked is false.
type Prober interface {
	Probe(ctx context.Context, agent config.Agent, address string) (asked bool, err error)
}

// checked is an agent with a health_check, and its answers so far.
type checked struct {
	incarnation string
	since       time.Time // when it was first looked at
	next        time.Time
	answered    bool // once: so it can be asked from here
	failures    int  // in a row
}

// askHealth asks the agents with a health_check in sett.yml for their health, at the
// cub's own /healthz: the image needs no program for it. An agent that fails as often
// as sett.yml allows is ended, and so restarted. Heartbeats watch the other agents.
func (s *Supervisor) askHealth(ctx context.Context) {
	all := map[string]*checked{}
	every := time.NewTicker(s.Pace.AskHealth)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		for _, agent := range s.Config().Agents {
			if agent.HealthCheck == nil {
				continue
			}
			s.Loop.Aside(ctx, func() func() { return func() { s.ask(ctx, agent, all) } })
		}
	}
}

// ask begins to ask an agent, if it is time. It runs as a step of the loop.
func (s *Supervisor) ask(ctx context.Context, agent config.Agent, all map[string]*checked) {
	m, now := s.of(agent.Name), s.Now()
	if m == nil || !m.is(m.incarnation) {
		return
	}
	c := all[agent.Name]
	if c == nil || c.incarnation != m.incarnation {
		c = &checked{incarnation: m.incarnation, since: now, next: now.Add(agent.HealthCheck.Interval)}
		all[agent.Name] = c
	}
	if now.Before(c.next) {
		return
	}
	c.next = now.Add(agent.HealthCheck.Interval)
	address := m.address
	s.Loop.Aside(ctx, func() func() {
		asked, err := s.Prober.Probe(ctx, agent, address)
		steady := s.Steady()
		return func() {
			agent, _ := s.Config().Agent(agent.Name)
			if !asked || ctx.Err() != nil || agent.HealthCheck == nil || !s.of(agent.Name).is(c.incarnation) {
				return // the agent was replaced, or its health is not checked any more
			}
			s.heard(ctx, agent, c, err, latest(steady, c.since), !steady.IsZero())
		}
	})
}

// heard judges an answer. It is fair to blame the agent only if the blackboard and the
// agent have been there for a while: without a blackboard no cub is well.
func (s *Supervisor) heard(ctx context.Context, agent config.Agent, c *checked, err error, since time.Time, fair bool) {
	check := agent.HealthCheck
	switch {
	case err == nil:
		c.answered, c.failures = true, 0
		s.Metrics.Healthy(agent.Name, true)
	case !fair || s.Now().Sub(since) < check.StartPeriod+check.Interval:
	case !c.answered:
		s.Log.Warn("health of an agent cannot be asked for", "agent", agent.Name, "error", err)
	default:
		c.failures++
		s.Metrics.Healthy(agent.Name, false)
		s.Log.Warn("agent is unhealthy", "agent", agent.Name, "error", err, "times", c.failures, "of", check.Retries)
		if c.failures >= check.Retries {
			u := runtime.Unit{Labels: runtime.Labels{runtime.LabelAgent: agent.Name, runtime.LabelIncarnation: c.incarnation}}
			s.endUnwell(ctx, u, fmt.Sprintf("unhealthy %d times: %v", c.failures, err))
		}
	}
}
