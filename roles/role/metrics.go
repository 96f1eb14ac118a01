package role

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Metrics is a registry with the metrics of every role that uses the blackboard: its
// process, and its calls.
type Metrics struct {
	*prometheus.Registry
	calls prometheus.Histogram
	lost  prometheus.Counter
}

// NewMetrics returns a registry, to which a role adds its own metrics.
func NewMetrics() *Metrics {
	m := &Metrics{
		Registry: prometheus.NewRegistry(),
		calls: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "sett_blackboard_call_seconds", Help: "How long calls of the blackboard took.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10)}),
		lost: Counter("sett_blackboard_calls_lost_total", "Attempts of calls that did not reach the blackboard."),
	}
	m.MustRegister(m.calls, m.lost, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Called counts one attempt of a call of the blackboard.
func (m *Metrics) Called(took time.Duration, lost bool) {
	m.calls.Observe(took.Seconds())
	if lost {
		m.lost.Inc()
	}
}

// Counter returns a counter without labels.
func Counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

// Counters returns a counter for each value of its labels.
func Counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}
