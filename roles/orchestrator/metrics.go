package orchestrator

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/role"
)

// metrics are what the orchestrator counts while it works. Times are in seconds.
// What there is on the blackboard is read when somebody asks (figures), and what
// others did is counted from the ledger (tally).
type metrics struct {
	registry      *role.Metrics
	grants        *prometheus.CounterVec // by phase
	consensusWait prometheus.Histogram
	phaseWait     *prometheus.HistogramVec // by phase
	restarts      *prometheus.CounterVec   // by agent
	crashes       *prometheus.CounterVec   // grants whose holder died, by agent
	healthy       *prometheus.GaugeVec     // by agent: 1, or 0 when its last answer was bad
	startDelay    *prometheus.GaugeVec     // by agent
	reloads       prometheus.Counter
	corrupt       prometheus.Counter
	leader        prometheus.Gauge

	ofAgent []func(agent string) // makes the series of an agent
}

func newMetrics() *metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 4, 10)
	m := &metrics{
		registry: role.NewMetrics(),
		grants:   role.Counters("sett_grants_total", "Grants given, by phase.", "phase"),
		consensusWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sett_consensus_wait_seconds", Help: "From a claim's opening until all bids were in.", Buckets: buckets}),
		phaseWait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sett_phase_wait_seconds", Help: "From a phase's first grant until its last result.", Buckets: buckets}, []string{"phase"}),
		restarts: role.Counters("sett_agent_restarts_total", "Agents that ended and were started again.", "agent"),
		crashes:  role.Counters("sett_grant_crashes_total", "Grants whose holder died.", "agent"),
		healthy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sett_agent_healthy", Help: "Whether the agent's last health check was good, where sett.yml asks for them."}, []string{"agent"}),
		startDelay: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sett_agent_start_delay_seconds", Help: "How long an agent that keeps ending waits for its next start; 0: it runs."}, []string{"agent"}),
		reloads: role.Counter("sett_configuration_reloads_total", "Changes of sett.yml that were applied."),
		corrupt: role.Counter("sett_corrupt_records_total", "Records that could not be read and were left alone."),
		leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sett_leader", Help: "Whether this orchestrator leads; one that does not waits to take over."}),
	}
	for _, p := range blackboard.Phases {
		m.grants.WithLabelValues(string(p))
		m.phaseWait.WithLabelValues(string(p))
	}
	m.ofAgent = append(m.ofAgent, func(agent string) {
		m.restarts.WithLabelValues(agent)
		m.crashes.WithLabelValues(agent)
	})
	m.registry.MustRegister(m.grants, m.consensusWait, m.phaseWait, m.restarts, m.crashes,
		m.healthy, m.startDelay, m.reloads, m.corrupt, m.leader)
	return m
}

// introduce begins to count for agents at 0: a rise from nothing is seen by nobody.
func (m *metrics) introduce(agents []string) {
	for _, agent := range agents {
		for _, f := range m.ofAgent {
			f(agent)
		}
	}
}

// sees notes how long a unit of the clan has still to wait for its next start, and
// forgets how it is where sett.yml does not ask for that any more.
func (m *metrics) sees(k *kept, agent config.Agent, now time.Time) {
	if k.agent == "" {
		return
	}
	wait := 0.0
	if !k.running && !k.held {
		wait = max(k.due.Sub(now).Seconds(), 0)
	}
	m.startDelay.WithLabelValues(k.agent).Set(wait)
	if agent.HealthCheck == nil {
		m.healthy.DeleteLabelValues(k.agent)
	}
}

// forget drops what is known of an agent that has left the clan, for what is still
// to be seen would be taken for the present.
func (m *metrics) forget(agent string) {
	m.startDelay.DeleteLabelValues(agent)
	m.healthy.DeleteLabelValues(agent)
}

// forgetAll drops what only who leads knows.
func (m *metrics) forgetAll() {
	m.startDelay.Reset()
	m.healthy.Reset()
}

// phaseWaits observes how long each phase of a closed claim took. What people did
// in it is none of its grants, nor is what a retry kept of the claim before.
func (m *metrics) phaseWaits(s blackboard.Snapshot, now time.Time) {
	for _, p := range blackboard.Phases {
		var first, last time.Time
		for _, g := range s.Grants {
			if g.Phase != p || !g.OfAgent() || g.QueuedAt.Before(s.Claim.OpenedAt) {
				continue
			}
			if first.IsZero() || g.QueuedAt.Before(first) {
				first = g.QueuedAt
			}
			if g.EndedAt.After(last) {
				last = g.EndedAt
			}
		}
		if !first.IsZero() {
			if last.IsZero() {
				last = now
			}
			m.phaseWait.WithLabelValues(string(p)).Observe(max(last.Sub(first).Seconds(), 0))
		}
	}
}
