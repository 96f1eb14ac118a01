package orchestrator

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sett/blackboard"
)

// metrics are what the orchestrator counts. Times are in seconds.
type metrics struct {
	registry      *prometheus.Registry
	claims        *prometheus.CounterVec // by status: opened, complete, terminated
	grants        *prometheus.CounterVec // by phase
	openClaims    prometheus.Gauge
	consensusWait prometheus.Histogram
	phaseWait     *prometheus.HistogramVec // by phase
	restarts      *prometheus.CounterVec   // by agent
	crashes       *prometheus.CounterVec   // grants whose holder died, by agent
	healthy       *prometheus.GaugeVec     // by agent: 1, or 0 when its last answer was bad
	reloads       prometheus.Counter
	corrupt       prometheus.Counter
}

func newMetrics() *metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 4, 10)
	m := &metrics{
		registry: prometheus.NewRegistry(),
		claims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sett_claims_total", Help: "Claims that were opened, completed or terminated."}, []string{"status"}),
		grants: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sett_grants_total", Help: "Grants given, by phase."}, []string{"phase"}),
		openClaims: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sett_open_claims", Help: "Claims that were open when last counted."}),
		consensusWait: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sett_consensus_wait_seconds", Help: "From a claim's opening until all bids were in.", Buckets: buckets}),
		phaseWait: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sett_phase_wait_seconds", Help: "From a phase's first grant until its last result.", Buckets: buckets}, []string{"phase"}),
		restarts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sett_agent_restarts_total", Help: "Agents that ended and were started again."}, []string{"agent"}),
		crashes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "sett_grant_crashes_total", Help: "Grants whose holder died."}, []string{"agent"}),
		healthy: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sett_agent_healthy", Help: "Whether the agent's last health check was good, where sett.yml asks for them."}, []string{"agent"}),
		reloads: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sett_configuration_reloads_total", Help: "Changes of sett.yml that were applied."}),
		corrupt: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "sett_corrupt_records_total", Help: "Records that could not be read and were left alone."}),
	}
	m.registry.MustRegister(m.claims, m.grants, m.openClaims, m.consensusWait, m.phaseWait, m.restarts, m.crashes,
		m.healthy, m.reloads, m.corrupt, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// phaseWaits observes how long each phase of a closed claim took.
func (m *metrics) phaseWaits(s blackboard.Snapshot, now time.Time) {
	for _, p := range blackboard.Phases {
		var first, last time.Time
		for _, g := range s.Grants {
			if g.Phase != p {
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
