package cli

import (
	"fmt"
	"runtime"

	"sett/roles/cli/term"
)

type versionCmd struct {
	term.Form
}

// Help is shown by `sett version --help`.
func (versionCmd) Help() string { return "Example: sett version -o json" }

// Run prints the version of this binary.
func (c *versionCmd) Run(a *app) error {
	v := struct {
		Version  string `json:"version"`
		Commit   string `json:"commit"`
		Go       string `json:"go"`
		Platform string `json:"platform"`
	}{a.Build.Version, a.Build.From(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return a.Emit(c.Form, term.Shown{Whole: v, Table: func() error {
		_, err := fmt.Fprintf(a.Stdout, "sett %s (commit %s, %s, %s)\n", v.Version, v.Commit, v.Go, v.Platform)
		return err
	}})
}
