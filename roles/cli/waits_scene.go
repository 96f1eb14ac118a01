package cli

import (
	"context"
	"fmt"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/contract/config"
	"sett/runtime"
)

// scene is what tells waits apart: one moment of the instance.
type scene struct {
	a         *app
	now       time.Time // the blackboard's
	stopping  bool      // the instance takes no new work
	leader    redis.Leader
	agents    map[string]redis.Presence
	workers   map[string]redis.Worker // by incarnation, of agents that have a fresh one per call
	workspace []redis.WorkspaceUse    // every running grant is in it
	config    *config.Config          // nil: nothing is known about the clan
	questions map[string]string       // what the open Questions ask, by id
	units     map[string]runtime.Unit // that are there; nil: nobody looked
}

// readScene reads the scene for open work. Units are looked at when somebody does
// not do their part.
func (a *app) readScene(ctx context.Context, b *redis.Board, in *instance, o openWork) (scene, error) {
	return a.readSceneWith(ctx, b, in, o, nil)
}

// readSceneWith is readScene for who has looked at the units already.
func (a *app) readSceneWith(ctx context.Context, b *redis.Board, in *instance, o openWork, units []runtime.Unit) (s scene, err error) {
	s = scene{a: a, questions: map[string]string{}, workers: map[string]redis.Worker{}}
	s.config, _ = in.config() // without it slots are not told from starts
	if s.now, err = b.ServerTime(ctx); err != nil {
		return s, err
	}
	if s.leader, err = b.Leader(ctx); err != nil {
		return s, err
	}
	state, err := b.State(ctx)
	if err != nil {
		return s, err
	}
	s.stopping = state == redis.InstanceStopping
	if s.agents, err = b.Agents(ctx); err != nil {
		return s, err
	}
	if s.workspace, err = b.Workspace(ctx); err != nil {
		return s, err
	}
	if err = s.readWorkers(ctx, b, o); err != nil {
		return s, err
	}
	if err = s.readQuestions(ctx, b, o); err != nil {
		return s, err
	}
	if len(units) > 0 {
		s.units = byName(in, units)
	} else if s.suspicious() {
		s.units = a.unitsOf(ctx, in)
	}
	return s, nil
}

// unitsOf returns the units of an instance by name; nil when they cannot be seen.
func (a *app) unitsOf(ctx context.Context, in *instance) map[string]runtime.Unit {
	place, err := a.place(ctx, in)
	if err != nil {
		return nil
	}
	all, err := place.List(ctx, nil)
	if err != nil || len(all) == 0 {
		return nil // as where it was never brought up from here
	}
	return byName(in, all)
}

// byName are an instance's units by name, with what its keeper is about to start.
func byName(in *instance, all []runtime.Unit) map[string]runtime.Unit {
	units := map[string]runtime.Unit{}
	for _, u := range all {
		units[u.Name] = u
	}
	for _, name := range in.returning(all) {
		u := units[name]
		u.Name, u.Restarting = name, true
		units[name] = u
	}
	return units
}

// readWorkers reads how those are that grants run on.
func (s *scene) readWorkers(ctx context.Context, b *redis.Board, o openWork) error {
	asked := map[string]bool{}
	for _, c := range o.claims {
		for _, g := range c.Grants {
			agent, known := s.agent(g.Agent)
			if asked[g.Agent] || !known || !agent.Fresh() || g.State != blackboard.GrantRunning {
				continue
			}
			asked[g.Agent] = true
			all, err := b.Workers(ctx, g.Agent)
			if err != nil {
				return err
			}
			for incarnation, w := range all {
				s.workers[incarnation] = w
			}
		}
	}
	return nil
}

// readQuestions reads how the questions begin that are open.
func (s *scene) readQuestions(ctx context.Context, b *redis.Board, o openWork) error {
	var ids []string
	for _, c := range o.claims {
		for _, g := range c.Grants {
			if g.State == blackboard.GrantAwaitingAnswer {
				ids = append(ids, g.ResultID)
			}
		}
	}
	all, _, err := b.OutlinesWithTexts(ctx, ids, maxShown)
	for i := range all {
		s.questions[ids[i]] = gistOf(&all[i])
	}
	return err
}

// suspicious says whether anybody does not do their part.
func (s scene) suspicious() bool {
	if s.leaderless() {
		return true
	}
	for _, p := range s.agents {
		if p.Alive.Before(s.now) {
			return true
		}
	}
	return s.config != nil && len(s.agents) < len(s.config.Agents)
}

func (s scene) leaderless() bool { return s.leader.Holder == "" || s.leader.Until.Before(s.now) }

func (s scene) agent(name string) (config.Agent, bool) {
	if s.config == nil {
		return config.Agent{}, false
	}
	return s.config.Agent(name)
}

func (s scene) bidTimeout() time.Duration {
	if s.config == nil {
		return 0
	}
	return s.config.Orchestrator.BidTimeout
}

func (s scene) questionTimeout() time.Duration {
	if s.config == nil {
		return 0
	}
	return s.config.Orchestrator.QuestionTimeout
}

// after returns when a bound on a wait is reached; zero: there is none.
func (s scene) after(since time.Time, bound time.Duration) time.Time {
	if bound <= 0 {
		return time.Time{}
	}
	return since.Add(bound)
}

// over says whether a bound was reached: from then on it is for the orchestrator
// to act.
func (s scene) over(until time.Time) bool { return !until.IsZero() && !s.now.Before(until) }

// at says until when a wait can last; nothing when that is for ever.
func (s scene) at(until time.Time, setting string) string {
	if until.IsZero() {
		return ""
	}
	return fmt.Sprintf(", until %s (%s)", s.a.clock(until), setting)
}

// trouble is what is wrong with somebody, if anything.
type trouble struct {
	what  string
	since time.Time // zero: it does not say
}

// blame adds to a wait what is wrong with whose move it is.
func (s scene) blame(w wait, t trouble) wait {
	if t.what == "" {
		return w
	}
	w.trouble += t.what
	w.Text += " (" + s.lasting(t) + ")"
	return w
}

// lasting is what is wrong, and for how long where that is known.
func (s scene) lasting(t trouble) string {
	if t.since.IsZero() {
		return t.what
	}
	return t.what + " for " + age(s.now.Sub(t.since))
}

// unitTrouble is what is wrong with a unit, as far as that can be seen.
func (s scene) unitTrouble(name string) trouble {
	u, there := s.units[name]
	switch {
	case s.units == nil:
	case u.Restarting:
		return trouble{what: "is being restarted"}
	case !there || !u.Running:
		return trouble{what: "is not running"}
	case u.Paused:
		return trouble{what: "is paused"}
	}
	return trouble{}
}

// agentTrouble is what is wrong with an agent.
func (s scene) agentTrouble(name string) trouble {
	p, known := s.agents[name]
	if known && p.Alive.After(s.now) {
		return trouble{}
	}
	if t := s.unitTrouble(runtime.AgentUnit(name)); t.what != "" {
		return t
	}
	switch {
	case !known:
		return trouble{what: "has never reported"}
	case p.Alive.IsZero():
		return trouble{what: "is not running"}
	}
	return trouble{"silent", p.Alive}
}

// holderTrouble is what is wrong with who runs a grant: a worker, where the agent
// has a fresh one per call.
func (s scene) holderTrouble(g blackboard.Grant) trouble {
	if agent, known := s.agent(g.Agent); !known || !agent.Fresh() {
		return s.agentTrouble(g.Agent)
	}
	if w, known := s.workers[g.Holder]; known && w.Alive.Before(s.now) {
		return trouble{"its worker is silent", w.Alive}
	}
	return trouble{}
}

// orchestratorTrouble is what is wrong with who decides.
func (s scene) orchestratorTrouble() trouble {
	if !s.leaderless() {
		return trouble{}
	}
	if t := s.unitTrouble(runtime.ComponentOrchestrator); t.what != "" {
		return t
	}
	return trouble{"nobody leads", s.leader.Until}
}
