package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"sett/roles/cli/manual"
	"sett/roles/cli/term"
	"sett/roles/role"
)

type manCmd struct {
	Dir string `arg:"" optional:"" help:"Write sett.1 and a page for each command into this directory, which is made."`
}

// Help is shown by `sett man --help`.
func (manCmd) Help() string {
	return `Prints the manual page of sett, as roff. For a directory it writes that page and one for
each command: sett.1, sett-up.1, sett-ledger-export.1 and so on. They say what --help says.

Examples:
  sett man | man -l -
  sett man ~/.local/share/man/man1
  sett man pages && man -l pages/sett-up.1`
}

// Run prints or writes the pages.
func (c *manCmd) Run(a *app) error {
	whole, _, err := grammarFor(nil)
	if err != nil {
		return err
	}
	pages := manual.Pages(whole, a.Build.Version)
	if c.Dir == "" {
		a.Printf("%s", pages["sett"])
		return nil
	}
	dir, err := a.at.Path(c.Dir)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make directory %s: %w", role.Clean(c.Dir), role.Cause(err))
	}
	var failed error
	for name, text := range pages {
		failed = errors.Join(failed, os.WriteFile(filepath.Join(dir, name+".1"), []byte(text), 0o644))
	}
	if failed != nil {
		return fmt.Errorf("write manual pages: %w", failed)
	}
	a.Sayf("sett: %d pages in %s\n", len(pages), role.Clean(a.Tilde(dir)))
	return nil
}

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
