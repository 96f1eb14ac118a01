package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/contract/env"
	"sett/runtime"
)

const (
	shortestBackoff = 100 * time.Millisecond
	longestBackoff  = 10 * time.Second
	healthyAfter    = 30 * time.Second // a run of this length resets the back-off
	silentAfter     = 30 * time.Second // without a heartbeat an agent that runs is taken for hung
	lookAround      = 15 * time.Second // how often silence and orphans are looked for
)

// agents keeps one unit per agent of the clan running, and learns of every end.
// It runs on one goroutine.
type agents struct {
	*leadership
	changed chan struct{}
	state   map[string]*agentState
}

type agentState struct {
	running     bool
	incarnation string
	digest      string
	started     time.Time
	backoff     time.Duration
	due         time.Time // when it may be started again
}

func newAgents(l *leadership) *agents {
	return &agents{leadership: l, changed: make(chan struct{}, 1), state: map[string]*agentState{}}
}

func (a *agents) wake() { wake(a.changed) }

// run supervises until the term ends. The agents go on without us.
func (a *agents) run(ctx context.Context) error {
	exits, err := a.runtime.Exits(ctx)
	if err != nil {
		return fmt.Errorf("follow exits: %w", err)
	}
	if err := a.adopt(ctx); err != nil {
		return err
	}
	every := time.NewTicker(lookAround)
	defer every.Stop()
	for {
		retry := a.converge(ctx)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-a.changed:
		case <-every.C:
			a.killSilent(ctx)
		case e, ok := <-exits:
			if !ok && ctx.Err() == nil {
				return errors.New("follow exits: they ended")
			}
			a.ended(ctx, e)
		case <-retry:
		}
	}
}

// adopt takes over what a former leader started, and fails what had died while
// nobody led.
func (a *agents) adopt(ctx context.Context) error {
	units, err := a.runtime.List(ctx, nil)
	if err != nil {
		return fmt.Errorf("list units: %w", err)
	}
	living := map[string]bool{}
	for _, u := range units {
		if !u.Running {
			continue
		}
		living[u.Labels[runtime.LabelIncarnation]] = true
		switch u.Labels[runtime.LabelComponent] {
		case runtime.ComponentAgent:
			a.state[u.Labels[runtime.LabelAgent]] = &agentState{
				running: true, incarnation: u.Labels[runtime.LabelIncarnation], digest: u.Labels[runtime.LabelConfig], started: u.StartedAt,
			}
		case runtime.ComponentWorker:
			a.workers.adopt(u)
		}
	}
	return a.failOrphans(ctx, living)
}

// failOrphans ends every running grant, and every hold of the workspace, whose
// holder does not live.
func (a *agents) failOrphans(ctx context.Context, living map[string]bool) error {
	claims, err := a.board.OpenClaims(ctx)
	if err != nil {
		return err
	}
	for _, id := range claims {
		s, err := a.board.Snapshot(ctx, id)
		if err != nil {
			continue // the queue reports it
		}
		for _, g := range s.Grants {
			if g.State == blackboard.GrantRunning && !living[g.Holder] {
				a.crashed(ctx, s.Claim, g, runtime.Exit{Code: -1, Text: "ended while no orchestrator watched"})
			}
		}
	}
	uses, err := a.board.Workspace(ctx)
	if err != nil {
		return err
	}
	for _, u := range uses {
		if !u.Waiting && !u.Restore && !living[u.Holder] {
			a.dropHold(ctx, u)
		}
	}
	return nil
}

// dropHold deals with a hold of the workspace whose grant has ended but whose
// holder died before it let go.
func (a *agents) dropHold(ctx context.Context, u redis.WorkspaceUse) {
	ref := redis.GrantRef{Claim: u.Claim, Agent: u.Agent, Attempt: u.Attempt, Holder: u.Holder}
	if err := a.board.RetryGrant(ctx, a.lead.Epoch, ref, "holder died"); err != nil {
		a.log.Warn("workspace not released", "claim", u.Claim, "agent", u.Agent, "error", err)
	}
}

// converge starts what should run and stops what should not. It returns a
// channel that fires when something is to be tried again.
func (a *agents) converge(ctx context.Context) <-chan time.Time {
	cfg, now := a.clan.get(), a.env.Now()
	for name, s := range a.state {
		if _, ok := cfg.Agent(name); !ok {
			a.log.Info("agent removed", "agent", name)
			a.stop(ctx, name, 10*time.Second, s)
			delete(a.state, name)
			a.touchAll(ctx)
		}
	}
	var next time.Time
	for _, agent := range cfg.Agents {
		s := a.state[agent.Name]
		if s == nil {
			s = &agentState{}
			a.state[agent.Name] = s
		}
		if s.running && s.digest != agent.Digest() {
			a.log.Info("agent changed, restarting", "agent", agent.Name)
			a.stop(ctx, agent.Name, agent.Grace+time.Second, s)
		}
		if s.running {
			continue
		}
		if now.Before(s.due) {
			if next.IsZero() || s.due.Before(next) {
				next = s.due
			}
			continue
		}
		if a.stopping(ctx) {
			return nil
		}
		a.start(ctx, agent, s)
		if !s.running && (next.IsZero() || s.due.Before(next)) {
			next = s.due
		}
	}
	a.workers.converge(ctx)
	if next.IsZero() {
		return nil
	}
	return time.After(max(next.Sub(a.env.Now()), time.Millisecond))
}

// touchAll has every open claim looked at again: the clan changed.
func (a *agents) touchAll(ctx context.Context) {
	if w, err := a.board.OpenWork(ctx); err == nil {
		for _, id := range w.Claims {
			a.queue.add(key{claimKey, id})
		}
	}
}

func unitName(agent string) string { return "agent-" + agent }

func (a *agents) start(ctx context.Context, agent config.Agent, s *agentState) {
	spec := a.spec(agent, runtime.ComponentAgent)
	u, err := a.runtime.Start(ctx, spec)
	if err != nil {
		a.delay(s)
		a.log.Error("agent not started", "agent", agent.Name, "error", err, "again_in", s.backoff)
		return
	}
	s.running, s.incarnation, s.started = true, u.Labels[runtime.LabelIncarnation], u.StartedAt
	s.digest = u.Labels[runtime.LabelConfig]
	a.log.Info("agent started", "agent", agent.Name, "unit", u.Name, "id", u.ID, "incarnation", s.incarnation)
}

// spec describes an agent's unit: its cub with everything it needs to know.
func (a *agents) spec(agent config.Agent, component string) runtime.Spec {
	c := env.Of(agent)
	c.Instance, c.Redis, c.Run = a.settings.Instance, a.settings.Redis, a.settings.Run
	c.Workspace, c.Incarnation, c.HealthAddr = a.settings.Workspace, a.env.NewID(), "127.0.0.1:0"
	if component == runtime.ComponentWorker {
		c.HealthAddr = "off"
	}
	vars := env.Inherited(a.env.Environ())
	for _, v := range agent.Environment {
		vars = append(vars, v.Name+"="+v.Value)
	}
	return runtime.Spec{
		Name: unitName(agent.Name), Args: []string{"cub"}, Dir: a.settings.Workspace,
		Env: append(vars, c.Environ()...),
		Labels: runtime.Labels{
			runtime.LabelInstance: a.settings.Instance, runtime.LabelComponent: component,
			runtime.LabelAgent: agent.Name, runtime.LabelRole: agent.Role, runtime.LabelRun: a.settings.Run,
			runtime.LabelIncarnation: c.Incarnation, runtime.LabelConfig: agent.Digest(),
		},
	}
}

func (a *agents) stop(ctx context.Context, name string, grace time.Duration, s *agentState) {
	if err := a.runtime.Stop(ctx, unitName(name), grace); err != nil {
		a.log.Error("agent not stopped", "agent", name, "error", err)
		return
	}
	a.orphan(ctx, name, s.incarnation, runtime.Exit{Code: -1, Text: "stopped"})
	s.running, s.due = false, time.Time{}
}

func (a *agents) delay(s *agentState) {
	s.backoff = min(max(2*s.backoff, shortestBackoff), longestBackoff)
	s.due = a.env.Now().Add(s.backoff)
}

// ended deals with a unit that is no more: its grant fails or is tried again, and
// the agent starts anew.
func (a *agents) ended(ctx context.Context, e runtime.Exit) {
	l := e.Unit.Labels
	agent, incarnation := l[runtime.LabelAgent], l[runtime.LabelIncarnation]
	switch l[runtime.LabelComponent] {
	case runtime.ComponentWorker:
		a.workers.ended(ctx, e)
		return
	case runtime.ComponentAgent:
	default:
		return
	}
	if a.stopping(ctx) {
		return
	}
	a.orphan(ctx, agent, incarnation, e)
	s := a.state[agent]
	if s == nil || s.incarnation != incarnation || !s.running {
		return // we stopped it ourselves, or it is not ours any more
	}
	s.running = false
	a.metrics.restarts.WithLabelValues(agent).Inc()
	if a.env.Now().Sub(s.started) > healthyAfter || e.Code == 0 {
		s.backoff = 0
	}
	if e.Code == 0 {
		s.due = time.Time{}
	} else {
		a.delay(s)
	}
	a.log.Warn("agent ended", "agent", agent, "incarnation", incarnation, "exit", e.Text, "code", e.Code, "oom", e.OOM,
		"tail", e.Tail, "again_in", s.backoff)
	if err := a.board.Goodbye(ctx, agent, incarnation, e.Text); err != nil && ctx.Err() == nil {
		a.log.Warn("end not recorded", "agent", agent, "error", err)
	}
}

// orphan ends what a dead incarnation was running.
func (a *agents) orphan(ctx context.Context, agent, incarnation string, e runtime.Exit) {
	w, err := a.board.OpenAgentWork(ctx, agent)
	if err != nil {
		a.log.Warn("grants of a dead agent not read, the next tick tries again", "agent", agent, "error", err)
		return
	}
	for _, id := range w.Grants {
		s, err := a.board.Snapshot(ctx, id)
		if err != nil {
			continue
		}
		if g, ok := s.Grant(agent); ok && g.State == blackboard.GrantRunning && g.Holder == incarnation {
			a.crashed(ctx, s.Claim, g, e)
		}
	}
	uses, err := a.board.Workspace(ctx)
	if err != nil {
		return
	}
	for _, u := range uses {
		if u.Agent == agent && u.Holder == incarnation && !u.Waiting && !u.Restore {
			a.dropHold(ctx, u)
		}
	}
}

// crashed fails a grant whose holder died, or queues it for another attempt.
func (l *leadership) crashed(ctx context.Context, c blackboard.Claim, g blackboard.Grant, e runtime.Exit) {
	agent, _ := l.clan.get().Agent(g.Agent)
	ref := redis.GrantRef{Claim: c.ID, Agent: g.Agent, Attempt: g.Attempt, Holder: g.Holder}
	reason := fmt.Sprintf("agent %s died while it worked: %s", g.Agent, e.Text)
	if e.OOM {
		reason += " (out of memory)"
	}
	l.metrics.crashes.WithLabelValues(g.Agent).Inc()
	var err error
	if g.Crashes < agent.Retries {
		l.log.Warn("grant queued again", "claim", c.ID, "agent", g.Agent, "attempt", g.Attempt, "reason", reason)
		err = l.board.RetryGrant(ctx, l.lead.Epoch, ref, reason)
	} else {
		l.log.Error("grant failed", "claim", c.ID, "agent", g.Agent, "attempt", g.Attempt, "reason", reason)
		err = l.board.FailGrant(ctx, l.lead.Epoch, ref, reason, l.failure(failureOf{
			kind: blackboard.TypeAgentCrashed, workflow: c.WorkflowID, source: c.ArtefactID, claim: c.ID,
			about: c.ID + "/" + g.Agent + "/" + strconv.Itoa(g.Attempt),
			report: blackboard.FailureReport{Reason: reason, ExitCode: e.Code, Stderr: e.Tail, StderrSize: int64(len(e.Tail)),
				Agent: g.Agent, Attempt: g.Attempt},
		}))
	}
	if err != nil && ctx.Err() == nil {
		l.log.Warn("crash not recorded, the next tick tries again", "claim", c.ID, "agent", g.Agent, "error", err)
	}
}

// killSilent ends agents that run but have not been heard of for long: hung, or
// stopped. What follows is what follows any end. It also catches up with ends
// that could not be recorded when they happened.
func (a *agents) killSilent(ctx context.Context) {
	steady := a.reachable.SteadySince()
	if steady.IsZero() {
		return
	}
	steady = latest(steady, a.since)
	present, err := a.board.Agents(ctx)
	if err != nil {
		return
	}
	now := a.env.Now()
	living := a.workers.living()
	for name, s := range a.state {
		if !s.running {
			continue
		}
		living[s.incarnation] = true
		heard := latest(steady, s.started)
		if p := present[name]; p.Incarnation == s.incarnation {
			heard = latest(heard, p.Alive)
		}
		if now.Sub(heard) > silentAfter && a.silentByServer(ctx, heard) && !a.stopping(ctx) {
			a.log.Error("agent is silent, ending it", "agent", name, "since", heard)
			if err := a.runtime.Stop(ctx, unitName(name), 0); err != nil {
				a.log.Error("agent not stopped", "agent", name, "error", err)
				continue
			}
			delete(living, s.incarnation)
			a.orphan(ctx, name, s.incarnation, runtime.Exit{Code: -1, Text: "silent for " + silentAfter.String()})
			s.running = false
			a.delay(s)
		}
	}
	if a.stopping(ctx) {
		return
	}
	if err := a.failOrphans(ctx, living); err != nil && ctx.Err() == nil {
		a.log.Warn("orphaned grants not looked for", "error", err)
	}
}

// silentByServer asks the blackboard's clock, by which heartbeats are, before
// anybody is ended for silence: ours may be wrong.
func (a *agents) silentByServer(ctx context.Context, heard time.Time) bool {
	now, err := a.board.ServerTime(ctx)
	return err == nil && now.Sub(heard) > silentAfter
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
