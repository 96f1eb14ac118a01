package orchestrator

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard/redis"
)

const (
	figuresTime = 2 * time.Second // for reading them: who asks has a timeout, too
	figuresKeep = time.Second     // for so long they are as good as new, however often somebody asks
)

// figures are the metrics that say what there is on the blackboard. They are read
// when somebody asks, by whichever orchestrator is asked: leading or not, it says
// the same.
type figures struct {
	*orchestrator
	up     *prometheus.Desc
	all    []figure
	agents []agentFigure

	mu   sync.Mutex
	at   time.Time
	last *reading // nil: the blackboard did not answer
}

// reading is what one look at the blackboard brought.
type reading struct {
	redis.Figures
	present map[string]redis.Presence
}

type figure struct {
	*prometheus.Desc
	of func(reading) float64
}

type agentFigure struct {
	*prometheus.Desc
	of func(r reading, agent string) float64
}

func newFigures(o *orchestrator) *figures {
	f := &figures{orchestrator: o, up: prometheus.NewDesc("sett_blackboard_up", "Whether the blackboard answers.", nil, nil)}
	add := func(name, help string, of func(reading) float64) {
		f.all = append(f.all, figure{prometheus.NewDesc(name, help, nil, nil), of})
	}
	backlog := func(name, help, age string, of func(reading) redis.Backlog) {
		add(name, help, func(r reading) float64 { return float64(of(r).Count) })
		add(age, "Age of the oldest of "+name+"; 0: there is none.", func(r reading) float64 { return r.age(of(r)) })
	}
	add("sett_ledger_events", "Entries of the ledger.", func(r reading) float64 { return float64(r.Events) })
	add("sett_ledger_artefacts", "Artefacts in the ledger.", func(r reading) float64 { return float64(r.Artefacts) })
	add("sett_ledger_claims", "Claims in the ledger.", func(r reading) float64 { return float64(r.Figures.Claims) })
	backlog("sett_claims_open", "Claims that are open.", "sett_claim_oldest_age_seconds", func(r reading) redis.Backlog { return r.Open })
	backlog("sett_artefacts_unclaimed", "Artefacts that have not got their claim yet.", "sett_artefact_unclaimed_oldest_age_seconds",
		func(r reading) redis.Backlog { return r.Unclaimed })
	backlog("sett_goals_active", "Goals with work outstanding.", "sett_goal_oldest_age_seconds", func(r reading) redis.Backlog { return r.Goals })
	backlog("sett_questions_open", "Questions that nobody has answered.", "sett_question_oldest_age_seconds",
		func(r reading) redis.Backlog { return r.Questions })
	backlog("sett_gates_open", "Artefacts that wait for a person's approval.", "sett_gate_oldest_age_seconds",
		func(r reading) redis.Backlog { return r.Gates })
	backlog("sett_workspace_waiting", "Grants that wait for the working tree.", "sett_workspace_wait_oldest_age_seconds", reading.waiting)
	f.ofAgents()
	return f
}

// ofAgents adds the figures that there are for each agent.
func (f *figures) ofAgents() {
	add := func(name, help string, of func(reading, string) float64) {
		f.agents = append(f.agents, agentFigure{prometheus.NewDesc(name, help, []string{"agent"}, nil), of})
	}
	add("sett_agent_up", "Whether the agent has been heard of lately.", func(r reading, agent string) float64 {
		if r.present[agent].Alive.After(r.At) {
			return 1
		}
		return 0
	})
	add("sett_agent_bids_due", "Claims that await this agent's bid.", func(r reading, agent string) float64 {
		return float64(r.Agents[agent].Due.Count)
	})
	add("sett_agent_bid_oldest_age_seconds", "For how long the oldest claim has awaited this agent's bid; 0: there is none.",
		func(r reading, agent string) float64 { return r.age(r.Agents[agent].Due) })
	add("sett_agent_grants_open", "Grants of the agent that are queued or running.", func(r reading, agent string) float64 {
		return float64(r.Agents[agent].Grants.Count)
	})
	add("sett_agent_grant_oldest_age_seconds", "Since when the oldest grant of the agent has been queued or running; 0: there is none.",
		func(r reading, agent string) float64 { return r.age(r.Agents[agent].Grants) })
}

// age is how old the oldest of a backlog is, in seconds.
func (r reading) age(b redis.Backlog) float64 {
	if b.Oldest.IsZero() {
		return 0
	}
	return max(r.At.Sub(b.Oldest).Seconds(), 0)
}

// waiting are the grants that wait for the working tree.
func (r reading) waiting() (b redis.Backlog) {
	for _, use := range r.Workspace { // oldest first
		if !use.Waiting {
			continue
		}
		if b.Count++; b.Oldest.IsZero() {
			b.Oldest = use.Since
		}
	}
	return b
}

// Describe is prometheus.Collector's.
func (f *figures) Describe(c chan<- *prometheus.Desc) {
	c <- f.up
	for _, g := range f.all {
		c <- g.Desc
	}
	for _, g := range f.agents {
		c <- g.Desc
	}
}

// Collect is prometheus.Collector's. Without a blackboard there are no figures.
func (f *figures) Collect(c chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		c <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	r := f.read()
	if r == nil {
		gauge(f.up, 0)
		return
	}
	gauge(f.up, 1)
	for _, g := range f.all {
		gauge(g.Desc, g.of(*r))
	}
	for _, agent := range f.clan.get().Names() {
		for _, g := range f.agents {
			gauge(g.Desc, g.of(*r, agent), agent)
		}
	}
}

// read looks at the blackboard, unless it was just looked at.
func (f *figures) read() *reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.env.Now(); !f.at.IsZero() && now.Sub(f.at).Abs() < figuresKeep {
		return f.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTime)
	defer cancel()
	var r reading
	var err error
	if r.Figures, err = f.board.Figures(ctx, f.clan.get().Names()); err == nil {
		r.present, err = f.board.Agents(ctx)
	}
	f.last, f.at = &r, f.env.Now()
	if err != nil {
		f.last = nil
		f.log.Debug("figures not read", "error", err)
	}
	return f.last
}
