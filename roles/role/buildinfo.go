package role

import (
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Info returns the metric sett_build_info. It is always 1; its labels are the
// version, the commit and the version of Go.
func (b Build) Info() prometheus.Collector {
	g := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "sett_build_info", Help: "Which sett this is; always 1.",
		ConstLabels: prometheus.Labels{"version": b.Version, "commit": b.Commit, "go_version": runtime.Version()},
	})
	g.Set(1)
	return g
}

// From returns the commit that the binary was linked with, else that of go build.
func (b Build) From() string {
	if b.Commit != "" {
		return b.Commit
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return unknown
}

// unknown stands for a commit, or a build, that cannot be told.
const unknown = "unknown"
