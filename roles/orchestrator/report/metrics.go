package report

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/blackboard"
	"sett/roles/role"
)

// Metrics are the orchestrator's own counts. Times are in seconds. The blackboard's
// contents are read on request (figures); the work of agents and people is counted
// from the ledger (tally).
type Metrics struct {
	Registry      *role.Metrics
	Grants        *prometheus.CounterVec // by phase
	ConsensusWait prometheus.Histogram
	Reloads       prometheus.Counter
	Corrupt       prometheus.Counter
	Leader        prometheus.Gauge
	TracesRefused prometheus.Counter

	traceWaits atomic.Int64             // when the goal ended of which the trace waits, in nanoseconds since 1970; 0: none does
	phaseWait  *prometheus.HistogramVec // by phase
	restarts   *prometheus.CounterVec   // by agent
	crashes    *prometheus.CounterVec   // grants of dead holders, by agent
	healthy    *prometheus.GaugeVec     // by agent: 1, or 0 after a bad answer
	startDelay *prometheus.GaugeVec     // by agent
	ofAgent    []func(agent string)     // makes the series of an agent
}

// NewMetrics returns the metrics in a registry of their own.
func NewMetrics() *Metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 4, 10)
	m := &Metrics{
		Registry: role.NewMetrics(),
		Grants:   role.Counters("sett_grants_total", "Grants given, by phase.", "phase"),
		ConsensusWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sett_consensus_wait_seconds", Help: "From a claim's opening until all bids were in.", Buckets: buckets}),
		phaseWait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sett_phase_wait_seconds", Help: "From a phase's first grant until its last result.", Buckets: buckets}, []string{"phase"}),
		restarts: role.Counters("sett_agent_restarts_total", "Agents that ended and were started again.", "agent"),
		crashes:  role.Counters("sett_grant_crashes_total", "Grants whose holder died.", "agent"),
		healthy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sett_agent_healthy", Help: "Whether the agent's last health check was good, where sett.yml asks for them."}, []string{"agent"}),
		startDelay: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sett_agent_start_delay_seconds", Help: "How long an agent that keeps ending waits for its next start; 0: it runs."}, []string{"agent"}),
		Reloads: role.Counter("sett_configuration_reloads_total", "Changes of sett.yml that were applied."),
		Corrupt: role.Counter("sett_corrupt_records_total", "Records that could not be read and were left alone."),
		Leader: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sett_leader", Help: "Whether this orchestrator leads; one that does not waits to take over."}),
		TracesRefused: role.Counter("sett_traces_refused_total", "Traces that their receiver refused, in part or whole."),
	}
	waiting := prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "sett_traces_waiting_oldest_age_seconds",
		Help: "Since when the oldest trace that its receiver could not take has waited; 0: there is none."}, m.traceAge)
	for _, p := range blackboard.Phases {
		m.Grants.WithLabelValues(string(p))
		m.phaseWait.WithLabelValues(string(p))
	}
	m.ofAgent = append(m.ofAgent, func(agent string) {
		m.restarts.WithLabelValues(agent)
		m.crashes.WithLabelValues(agent)
	})
	m.Registry.MustRegister(m.Grants, m.ConsensusWait, m.phaseWait, m.restarts, m.crashes,
		m.healthy, m.startDelay, m.Reloads, m.Corrupt, m.Leader, m.TracesRefused, waiting)
	return m
}

// TraceWaits notes that the trace of a goal that ended then waits for its receiver, and all later ones with
// it; no time: none does.
func (m *Metrics) TraceWaits(ended time.Time) {
	at := int64(0)
	if !ended.IsZero() {
		at = ended.UnixNano()
	}
	m.traceWaits.Store(at)
}

func (m *Metrics) traceAge() float64 {
	at := m.traceWaits.Load()
	if at == 0 {
		return 0
	}
	return max(time.Since(time.Unix(0, at)).Seconds(), 0)
}

// Introduce begins to count for agents at 0: a rise from no series at all would not
// show.
func (m *Metrics) Introduce(agents []string) {
	for _, agent := range agents {
		for _, f := range m.ofAgent {
			f(agent)
		}
	}
}

// Restarted counts an agent that ended and is started again.
func (m *Metrics) Restarted(agent string) { m.restarts.WithLabelValues(agent).Inc() }

// Crashed counts a grant of a dead holder.
func (m *Metrics) Crashed(agent string) { m.crashes.WithLabelValues(agent).Inc() }

// Healthy notes an agent's answer to its health check.
func (m *Metrics) Healthy(agent string, well bool) {
	v := 0.0
	if well {
		v = 1
	}
	m.healthy.WithLabelValues(agent).Set(v)
}

// Seen notes the pause before an agent's next start, 0 while it runs. Without a health
// check the last answer is forgotten.
func (m *Metrics) Seen(agent string, pause time.Duration, checked bool) {
	m.startDelay.WithLabelValues(agent).Set(max(pause.Seconds(), 0))
	if !checked {
		m.healthy.DeleteLabelValues(agent)
	}
}

// Forget drops the gauges of an agent. They would look like the present of an agent
// that has left the clan, or of one that another orchestrator leads.
func (m *Metrics) Forget(agent string) {
	m.startDelay.DeleteLabelValues(agent)
	m.healthy.DeleteLabelValues(agent)
}

// Closed observes the length of each phase of a closed claim. People's reviews do not
// count, nor do grants that a retry took over from the claim before.
func (m *Metrics) Closed(s blackboard.Snapshot, now time.Time) {
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
