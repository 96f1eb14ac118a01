package view

import (
	"context"
	"maps"
	"slices"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Scene is one moment of the instance: with it waits get their names and texts.
type Scene struct {
	Now      time.Time                      // by the blackboard's clock
	Stopping bool                           // the instance takes no new work
	Refusal  *blackboard.NoWritesError      // nil: the blackboard takes writes
	Agents   map[string]blackboard.Presence // by name

	clock     func(time.Time) string
	leader    blackboard.Leader
	workers   map[string]blackboard.Worker // by incarnation, of agents that start a fresh one for each grant
	running   []blackboard.Running
	policy    blackboard.Policy
	questions map[string]string // how the open Questions begin, by id
	units     UnitTrouble
}

// Scene reads the scene for open work. It looks at the units when an agent or the
// orchestrator does not do its part, and asks whether the blackboard takes writes when
// nobody leads, or work waits for others than people: their moves need writes, and some
// blackboards take signs of life without a place to write.
func (r Reader) Scene(ctx context.Context, o Open) (Scene, error) {
	s, err := r.read(ctx, o, nil)
	if err == nil && s.suspicious() {
		s.units = r.Units(ctx)
	}
	if err == nil && (s.leaderless() || s.moves(o)) {
		s.Refusal, err = r.Refusal(ctx)
	}
	return s, err
}

// SceneWith is Scene for a caller that has looked at the units, and has asked whether the
// blackboard takes writes.
func (r Reader) SceneWith(ctx context.Context, o Open, units UnitTrouble, refusal *blackboard.NoWritesError) (s Scene, err error) {
	s, err = r.read(ctx, o, units)
	s.Refusal = refusal
	return s, err
}

func (r Reader) read(ctx context.Context, o Open, units UnitTrouble) (s Scene, err error) {
	s = Scene{clock: r.Clock, questions: map[string]string{}, workers: map[string]blackboard.Worker{}, policy: policyOf(r.Config), units: units}
	if s.Now, err = r.ServerTime(ctx); err != nil {
		return s, err
	}
	if s.leader, err = r.Leader(ctx); err != nil {
		return s, err
	}
	state, err := r.State(ctx)
	if err != nil {
		return s, err
	}
	s.Stopping = state == blackboard.InstanceStopping
	if s.Agents, err = r.Agents(ctx); err != nil {
		return s, err
	}
	if s.running, err = r.Running(ctx); err != nil {
		return s, err
	}
	if err = r.readWorkers(ctx, &s, o); err != nil {
		return s, err
	}
	return s, r.readQuestions(ctx, &s, o)
}

// policyOf returns the part of a configuration that waits depend on.
func policyOf(c *config.Config) blackboard.Policy {
	if c == nil {
		return blackboard.Policy{}
	}
	p := blackboard.Policy{Agents: map[string]blackboard.AgentPolicy{},
		BidTimeout: c.Orchestrator.BidTimeout, QuestionTimeout: c.Orchestrator.QuestionTimeout}
	for _, a := range c.Agents {
		agent := blackboard.AgentPolicy{Timeout: a.Timeout, BidsRequired: a.BidsRequired}
		if a.Fresh() {
			agent.Workers = a.Replicas
		} else {
			agent.Slots = a.Slots()
		}
		p.Agents[a.Name] = agent
	}
	return p
}

// readWorkers reads the workers of agents that start a fresh one for each grant.
func (r Reader) readWorkers(ctx context.Context, s *Scene, o Open) error {
	asked := map[string]bool{}
	for _, c := range o.Claims {
		for _, g := range c.Grants {
			if asked[g.Agent] || s.policy.Agents[g.Agent].Workers == 0 || g.State != blackboard.GrantRunning {
				continue
			}
			asked[g.Agent] = true
			all, err := r.Workers(ctx, g.Agent)
			if err != nil {
				return err
			}
			maps.Copy(s.workers, all)
		}
	}
	return nil
}

// readQuestions reads how the open Questions begin.
func (r Reader) readQuestions(ctx context.Context, s *Scene, o Open) error {
	var ids []string
	for _, c := range o.Claims {
		for _, g := range c.Grants {
			if g.State == blackboard.GrantAwaitingAnswer {
				ids = append(ids, g.ResultID)
			}
		}
	}
	all, _, err := r.OutlinesWithTexts(ctx, ids, MaxShown)
	for i := range all {
		s.questions[ids[i]] = GistOf(&all[i])
	}
	return err
}

// suspicious says whether an agent or the orchestrator does not do its part.
func (s Scene) suspicious() bool {
	if s.leaderless() {
		return true
	}
	for _, p := range s.Agents {
		if !blackboard.Lives(p.Alive, s.Now) {
			return true
		}
	}
	return len(s.Agents) < len(s.policy.Agents)
}

// moves says whether open work waits for others than people.
func (s Scene) moves(o Open) bool {
	return len(o.unclaimed) > 0 || slices.ContainsFunc(o.Claims, func(c blackboard.Snapshot) bool {
		return slices.ContainsFunc(blackboard.Waits(c, s.policy, blackboard.Scene{Now: s.Now, Running: s.running}), func(w blackboard.Wait) bool { return !w.Kind.ByPerson() })
	})
}

func (s Scene) leaderless() bool { return s.leader.Holder == "" || s.leader.Until.Before(s.Now) }

// trouble is a reason why a move does not come.
type trouble struct {
	what  string    // empty: none
	since time.Time // zero: unknown
}

// text names the trouble, and how long it has lasted where that is known.
func (t trouble) text(now time.Time) string {
	if t.since.IsZero() {
		return t.what
	}
	return t.what + " for " + words.Age(now.Sub(t.since))
}

// blame adds to a wait the trouble of the agent or orchestrator that has the move.
func (w *Wait) blame(t trouble, now time.Time) {
	if t.what != "" {
		w.trouble += t.what
		w.Text += " (" + t.text(now) + ")"
	}
}

// troubleOf returns the trouble of the agent or orchestrator that has the next move.
func (s Scene) troubleOf(w blackboard.Wait) trouble {
	switch {
	case w.Agent == "":
	case w.Kind == blackboard.WaitClaim, w.Kind == blackboard.WaitDecision, w.Kind == blackboard.WaitStart && w.Workers > 0:
		return s.orchestratorTrouble()
	case w.Kind == blackboard.WaitBid, w.Kind == blackboard.WaitStart, w.Kind == blackboard.WaitSlot && w.Slots > 0, inGrant(w.Kind) && w.Workers == 0:
		return s.agentTrouble(w.Agent)
	case inGrant(w.Kind):
		if worker, known := s.workers[w.Holder]; known && !blackboard.Lives(worker.Alive, s.Now) {
			return silence("its worker is silent", worker.Alive, s.Now)
		}
	}
	return trouble{}
}

// inGrant says whether a grant that runs waits so.
func inGrant(k blackboard.WaitKind) bool {
	return slices.Contains([]blackboard.WaitKind{blackboard.WaitResult, blackboard.WaitRepository, blackboard.WaitModel, blackboard.WaitBlackboard}, k)
}

// unitTrouble is the trouble of a unit, as far as anybody can see it.
func (s Scene) unitTrouble(name string) trouble {
	if s.units == nil {
		return trouble{}
	}
	return trouble{what: s.units(name)}
}

// AgentTrouble says why an agent does not work, as "silent for 3m"; empty: it does.
func (s Scene) AgentTrouble(name string) string { return s.agentTrouble(name).text(s.Now) }

// Heard says whether an agent reports. What it cannot do then does not keep its claims waiting.
func (s Scene) Heard(name string) bool {
	p, known := s.Agents[name]
	return known && blackboard.Lives(p.Alive, s.Now)
}

func (s Scene) agentTrouble(name string) trouble {
	p, known := s.Agents[name]
	if s.Heard(name) {
		switch {
		case p.Unfit:
			return trouble{what: "unfit: " + role.Clean(p.Trouble)}
		case p.Trouble != "":
			return trouble{what: "unhealthy: " + role.Clean(p.Trouble)}
		}
		return trouble{}
	}
	if t := s.unitTrouble(name); t.what != "" {
		return t
	}
	switch {
	case !known:
		return trouble{what: "has never reported"}
	case p.Alive.IsZero():
		return trouble{what: "is not running"}
	}
	return silence("silent", p.Alive, s.Now)
}

// silence is the trouble of a part with a last heartbeat that held until a moment. Where
// that is still to come, the blackboard's clock was set back, and nobody knows since when.
func silence(what string, until, now time.Time) trouble {
	if until.After(now) {
		return trouble{what: what}
	}
	return trouble{what, until}
}

func (s Scene) orchestratorTrouble() trouble {
	if !s.leaderless() {
		return trouble{}
	}
	if t := s.unitTrouble(blackboard.RoleOrchestrator); t.what != "" {
		return t
	}
	return trouble{"nobody leads", s.leader.Until}
}
