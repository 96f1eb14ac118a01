package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionCmd struct {
	outputs
}

// Help is shown by `sett version --help`.
func (versionCmd) Help() string { return "Example: sett version -o json" }

// Run says what this binary is.
func (c *versionCmd) Run(a *app) error {
	v := struct {
		Version  string `json:"version"`
		Commit   string `json:"commit"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{a.Build.Version, builtFrom(a.Build.Commit), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return a.emit(c.outputs, shown{whole: v, table: func() error {
		_, err := fmt.Fprintf(a.Stdout, "sett %s (commit %s, %s, %s)\n", v.Version, v.Commit, v.Go, v.Platform)
		return err
	}})
}

// builtFrom returns the commit that the binary was linked with, else what go build knew.
func builtFrom(linked string) string {
	if linked != "" {
		return linked
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				return s.Value[:min(len(s.Value), 12)]
			}
		}
	}
	return "unknown"
}
