package report

import (
	"context"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
)

const (
	figuresTime = 2 * time.Second // to read them in: the client has a timeout, too
	figuresKeep = time.Second     // they are read again only after so long
)

// figures are the metrics of the blackboard's contents. They are read when somebody
// asks; every orchestrator answers the same, leading or not.
type figures struct {
	Options
	up     *prometheus.Desc
	all    []figure
	agents []agentFigure

	mu   sync.Mutex
	at   time.Time
	last *reading // nil: the blackboard did not answer
}

// reading is the result of one look at the blackboard.
type reading struct {
	blackboard.Figures
	present map[string]blackboard.Presence
}

type figure struct {
	*prometheus.Desc
	of func(reading) float64
}

type agentFigure struct {
	*prometheus.Desc
	of func(r reading, agent string) float64
}

func newFigures(o Options) *figures {
	f := &figures{Options: o, up: prometheus.NewDesc("sett_blackboard_up", "Whether the blackboard answers.", nil, nil)}
	add := func(name, help string, of func(reading) float64) {
		f.all = append(f.all, figure{prometheus.NewDesc(name, help, nil, nil), of})
	}
	backlog := func(name, help, age string, of func(reading) blackboard.Backlog) {
		add(name, help, func(r reading) float64 { return float64(of(r).Count) })
		add(age, "Age of the oldest of "+name+"; 0: there is none.", func(r reading) float64 { return r.age(of(r)) })
	}
	add("sett_ledger_events", "Entries of the ledger.", func(r reading) float64 { return float64(r.Events) })
	add("sett_ledger_artefacts", "Artefacts in the ledger.", func(r reading) float64 { return float64(r.Artefacts) })
	add("sett_ledger_claims", "Claims in the ledger.", func(r reading) float64 { return float64(r.Figures.Claims) })
	backlog("sett_claims_open", "Claims that are open.", "sett_claim_oldest_age_seconds", func(r reading) blackboard.Backlog { return r.Open })
	backlog("sett_artefacts_unclaimed", "Artefacts that have not got their claim yet.", "sett_artefact_unclaimed_oldest_age_seconds",
		func(r reading) blackboard.Backlog { return r.Unclaimed })
	backlog("sett_goals_active", "Goals with work outstanding.", "sett_goal_oldest_age_seconds", func(r reading) blackboard.Backlog { return r.Goals })
	backlog("sett_questions_open", "Questions that nobody has answered.", "sett_question_oldest_age_seconds",
		func(r reading) blackboard.Backlog { return r.Questions })
	backlog("sett_gates_open", "Artefacts that wait for a person's approval.", "sett_gate_oldest_age_seconds",
		func(r reading) blackboard.Backlog { return r.Gates })
	backlog("sett_landings_open", "Goals with a result that has not reached its branch yet.", "sett_landing_oldest_age_seconds",
		func(r reading) blackboard.Backlog { return r.Landings })
	backlog("sett_grants_delayed", "Grants whose tools wait for the repository.", "sett_grant_delay_oldest_age_seconds", reading.delayed)
	f.ofAgents()
	return f
}

// ofAgents adds the figures of each agent.
func (f *figures) ofAgents() {
	add := func(name, help string, of func(reading, string) float64) {
		f.agents = append(f.agents, agentFigure{prometheus.NewDesc(name, help, []string{"agent"}, nil), of})
	}
	add("sett_agent_up", "Whether the agent has been heard of lately.", func(r reading, agent string) float64 {
		if blackboard.Lives(r.present[agent].Alive, r.At) {
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

// age returns the age of a backlog's oldest item, in seconds.
func (r reading) age(b blackboard.Backlog) float64 {
	if b.Oldest.IsZero() {
		return 0
	}
	return max(r.At.Sub(b.Oldest).Seconds(), 0)
}

// delayed returns the grants whose tools wait for something.
func (r reading) delayed() (b blackboard.Backlog) {
	for _, run := range r.Running {
		if run.WaitsSince.IsZero() {
			continue
		}
		if b.Count++; b.Oldest.IsZero() || run.WaitsSince.Before(b.Oldest) {
			b.Oldest = run.WaitsSince
		}
	}
	return b
}

// Describe implements prometheus.Collector.
func (f *figures) Describe(c chan<- *prometheus.Desc) {
	c <- f.up
	for _, g := range f.all {
		c <- g.Desc
	}
	for _, g := range f.agents {
		c <- g.Desc
	}
}

// Collect implements prometheus.Collector. Without a blackboard there are no figures.
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
	for _, agent := range f.Config().Names() {
		for _, g := range f.agents {
			gauge(g.Desc, g.of(*r, agent), agent)
		}
	}
}

// read reads the blackboard, unless it was read just now.
func (f *figures) read() *reading {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := f.Now(); !f.at.IsZero() && now.Sub(f.at).Abs() < figuresKeep {
		return f.last
	}
	ctx, cancel := context.WithTimeout(context.Background(), figuresTime)
	defer cancel()
	var r reading
	var err error
	if r.Figures, err = f.Board.Figures(ctx, f.Config().Names()); err == nil {
		r.present, err = f.Presences.Agents(ctx)
	}
	f.last, f.at = &r, f.Now()
	if err != nil {
		f.last = nil
		f.Log.Debug("figures not read", "error", err)
	}
	return f.last
}
