package cub

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// metrics are what a cub counts.
type metrics struct {
	registry    *prometheus.Registry
	bids        *prometheus.CounterVec // by bid
	grants      *prometheus.CounterVec // by phase
	executions  prometheus.Counter
	successes   prometheus.Counter
	failures    prometheus.Counter
	timeouts    prometheus.Counter
	artefacts   *prometheus.CounterVec // by structural type
	toolSeconds prometheus.Histogram
	since       prometheus.Gauge // Unix time at which the grant under way was taken up; 0: there is none
	held        prometheus.Gauge
	calls       prometheus.Histogram
	lostCalls   prometheus.Counter
}

func newMetrics() *metrics {
	counter := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	vec := func(name, help, label string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, []string{label})
	}
	m := &metrics{
		registry:   prometheus.NewRegistry(),
		bids:       vec("sett_bids_total", "Bids submitted, by type.", "bid"),
		grants:     vec("sett_grants_received_total", "Grants taken up, by phase.", "phase"),
		executions: counter("sett_executions_total", "Runs of the tool."),
		successes:  counter("sett_successes_total", "Grants that ended with anything but a Failure."),
		failures:   counter("sett_failures_total", "Grants that ended with a Failure."),
		timeouts:   counter("sett_timeouts_total", "Runs of the tool that took too long."),
		artefacts:  vec("sett_artefacts_total", "Artefacts written, by structural type.", "structural_type"),
		toolSeconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sett_tool_seconds", Help: "From a tool's start to its end, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}),
		since: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sett_grant_start_timestamp_seconds", Help: "When the grant under way was taken up, in Unix time; 0: there is none."}),
		held: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "sett_results_held", Help: "Results that wait for the blackboard to come back."}),
		calls: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sett_blackboard_call_seconds", Help: "How long calls of the blackboard took.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10)}),
		lostCalls: counter("sett_blackboard_calls_lost_total", "Attempts of calls for which the blackboard was not there."),
	}
	m.registry.MustRegister(m.bids, m.grants, m.executions, m.successes, m.failures, m.timeouts, m.artefacts, m.toolSeconds,
		m.since, m.held, m.calls, m.lostCalls, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// watch adds what others know: for how long the blackboard has been away, and what
// was built.
func (m *metrics) watch(c *cub) {
	m.registry.MustRegister(c.env.Build.Info(), prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "sett_blackboard_away_seconds", Help: "For how long the blackboard has not answered; 0: it does.",
	}, func() float64 { return c.reachable.Away().Seconds() }))
}

// called counts an attempt of a call of the blackboard.
func (m *metrics) called(took time.Duration, lost bool) {
	m.calls.Observe(took.Seconds())
	if lost {
		m.lostCalls.Inc()
	}
}

// working notes when the grant under way was taken up; the zero time: there is none.
func (m *metrics) working(since time.Time) {
	if since.IsZero() {
		m.since.Set(0)
		return
	}
	m.since.Set(float64(since.UnixMilli()) / 1000)
}
