package cub

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"sett/contract/config"
	"sett/contract/env"
	"sett/roles/role"
)

// unfit is the reason that a program of the agent cannot be run where the cub is; empty:
// none is known. fails says that its work fails so, and not only its bids. A program of the
// tree is another one for each grant: it is missing if the repository has none, until a
// grant has run it.
func unfit(settings env.Cub, ran bool) (why string, fails bool) {
	if settings.Lacks != "" && !ran {
		return settings.Lacks + " cannot be run: the repository has no such file", true
	}
	if why := missing(settings, settings.Command); why != "" {
		return why, true
	}
	return missing(settings, settings.BidScript), false
}

// missing is the reason that a command cannot be run; empty: none is known.
func missing(settings env.Cub, command []string) string {
	if len(command) == 0 || slices.Equal(command, config.LLMCommand()) { // that is sett itself
		return ""
	}
	program := command[0]
	if ofTree := strings.Contains(program, "/") && !filepath.IsAbs(program); ofTree || strings.HasPrefix(program, settings.Workspace+"/") {
		return ""
	}
	err := role.Runnable(program, "")
	if err == nil {
		return ""
	}
	said := err.Error()
	if settings.Pin != "" {
		program, said = strings.TrimPrefix(program, settings.Pin+"/"), strings.ReplaceAll(said, settings.Pin+"/", "")
	}
	return fmt.Sprintf("%s cannot be run: %s", program, said)
}
