package cub

import (
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
	}
	m.registry.MustRegister(m.bids, m.grants, m.executions, m.successes, m.failures, m.timeouts, m.artefacts, m.toolSeconds,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}
