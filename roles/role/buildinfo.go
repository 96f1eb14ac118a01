package role

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Info returns the metric sett_build_info, which is 1, with what was built as its
// labels.
func (b Build) Info() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sett_build_info", Help: "Which sett this is; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go_version": runtime.Version()},
	})
	g.Set(1)
	return g
}
