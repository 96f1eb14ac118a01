package cub

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"sett/roles/role"
)

// metrics are the metrics of a cub.
type metrics struct {
	registry    *role.Metrics
	bids        *prometheus.CounterVec // by bid
	grants      *prometheus.CounterVec // by phase
	executions  prometheus.Counter
	successes   prometheus.Counter
	failures    prometheus.Counter
	timeouts    prometheus.Counter
	artefacts   *prometheus.CounterVec // by structural type
	toolSeconds prometheus.Histogram
	since       prometheus.Gauge // Unix time of the start of the oldest running grant; 0: there is none
	held        prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry:   role.NewMetrics(),
		bids:       role.Counters("sett_bids_total", "Bids submitted, by type.", "bid"),
		grants:     role.Counters("sett_grants_received_total", "Grants started, by phase.", "phase"),
		executions: role.Counter("sett_executions_total", "Runs of the tool."),
		successes:  role.Counter("sett_successes_total", "Grants that ended with anything but a Failure."),
		failures:   role.Counter("sett_failures_total", "Grants that ended with a Failure."),
		timeouts:   role.Counter("sett_timeouts_total", "Runs of the tool that ended by the timeout."),
		artefacts:  role.Counters("sett_artefacts_total", "Artefacts written, by structural type.", "structural_type"),
		toolSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sett_tool_seconds", Help: "From a tool's start to its end, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}),
		since: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sett_grant_start_timestamp_seconds", Help: "Start of the running grant that began first, in Unix time; 0: there is none."}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sett_results_held", Help: "Results that wait for the blackboard to come back."}),
	}
	m.registry.MustRegister(m.bids, m.grants, m.executions, m.successes, m.failures, m.timeouts, m.artefacts, m.toolSeconds,
		m.since, m.held)
	return m
}

// watch adds metrics from elsewhere: the time since the blackboard went away, and
// the build.
func (m *metrics) watch(c *state) {
	m.registry.MustRegister(c.env.Build.Info(), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sett_blackboard_away_seconds", Help: "Seconds since the blackboard went away; 0 while it answers.",
	}, func() float64 { return c.reachable.Away().Seconds() }))
}

// working records the start of the running grant; the zero time: there is none.
func (m *metrics) working(since time.Time) {
	if since.IsZero() {
		m.since.Set(0)
		return
	}
	m.since.Set(float64(since.UnixMilli()) / 1000)
}
