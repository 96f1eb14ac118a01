package pool

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"sett/blackboard"
	"sett/contract/config"
)

// A standby that is about to lose its network gets no claim any more: it would drop
// the claim like its siblings, for the same reason.
func TestRetiredStandbyIsNotTaken(t *testing.T) {
	t.Parallel()
	agent := config.Agent{Name: "w", Strategy: config.StrategyFreshPerCall, Warm: 1}
	p := New(Options{Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	p.warm["x"] = &standby{worker: worker{unit: "x", agent: "w", incarnation: "i", started: time.Now()}, digest: agent.Digest()}
	if u := p.Units(); len(u) != 1 || !u[0].Running {
		t.Errorf("before: %+v", u)
	}
	if u := p.Retire("w"); len(u) != 1 || u[0].Name != "x" {
		t.Errorf("retired: %+v", u)
	}
	if u := p.Units(); len(u) != 1 || u[0].Running {
		t.Errorf("after: %+v", u)
	}
	if got := p.take(agent); got != nil {
		t.Errorf("taken: %+v", got)
	}
	if units := p.surplus(&config.Config{Agents: []config.Agent{agent}}, time.Now()); len(units) != 0 {
		t.Errorf("told to stop again at once: %v", units)
	}
	if units := p.surplus(&config.Config{Agents: []config.Agent{agent}}, time.Now().Add(time.Minute)); len(units) != 1 {
		t.Errorf("not told again after a while: %v", units)
	}
}

// loop runs nothing.
type loop struct{}

func (loop) Aside(context.Context, func() func()) {}
func (loop) Wake()                                {}

// The one free worker goes to the grant that has stood in line longest, though it was handed back since.
func TestJobsKeepTheirPlace(t *testing.T) {
	t.Parallel()
	agent := config.Agent{Name: "w", Strategy: config.StrategyFreshPerCall, Replicas: 1}
	p := New(Options{Now: time.Now, Log: slog.New(slog.DiscardHandler), Loop: loop{}, Config: func() *config.Config { return &config.Config{Agents: []config.Agent{agent}} }})
	at := time.Unix(1_900_000_000, 0)
	p.Offer("w", "later", blackboard.Grant{Attempt: 1, QueuedAt: at.Add(time.Second)})
	p.Offer("w", "stopped", blackboard.Grant{Attempt: 2, QueuedAt: at.Add(time.Minute), LineSince: at})
	if jobs := p.startable(); len(jobs) != 1 || jobs[0].claim != "stopped" {
		t.Errorf("started: %+v", jobs)
	}
}
