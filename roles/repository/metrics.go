package repository

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"sett/roles/role"
)

// metrics are the metrics of the repository.
type metrics struct {
	registry *prometheus.Registry
	seconds  *prometheus.HistogramVec // by request
	refused  *prometheus.CounterVec   // by request
	bytes    *prometheus.GaugeVec     // by tree
	store    *prometheus.GaugeVec     // by kind
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "sett_repository_seconds", Help: "From a request to its answer, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.001, 4, 10)}, []string{"request"}),
		refused: role.Counters("sett_repository_refused_total", "Requests that were not met.", "request"),
		bytes: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sett_repository_tree_bytes", Help: "Disk that a tree takes, measured while it is at rest."}, []string{"tree"}),
		store: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "sett_repository_store_bytes", Help: "Disk that the store takes, of its own or shared with the repository by hard links."}, []string{"kind"}),
	}
	m.registry.MustRegister(m.seconds, m.refused, m.bytes, m.store, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// begin shows a kind of request before there is any.
func (m *metrics) begin(request string) {
	m.seconds.WithLabelValues(request)
	m.refused.WithLabelValues(request)
}

// time begins to measure a request.
func (m *metrics) time(request string) (done func(error)) {
	began := time.Now()
	return func(err error) {
		m.seconds.WithLabelValues(request).Observe(time.Since(began).Seconds())
		if err != nil {
			m.refused.WithLabelValues(request).Inc()
		}
	}
}
