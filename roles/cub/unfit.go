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
// none is known. A program of the tree is another one for each grant: it is missing if the
// repository has none, until a grant has run it.
func unfit(settings env.Cub, ran bool) string {
	if settings.Lacks != "" && !ran {
		return settings.Lacks + " cannot be run: the repository has no such file"
	}
	for _, command := range [][]string{settings.Command, settings.BidScript} {
		if len(command) == 0 || slices.Equal(command, config.LLMCommand()) { // that is sett itself
			continue
		}
		program := command[0]
		if ofTree := strings.Contains(program, "/") && !filepath.IsAbs(program); ofTree || strings.HasPrefix(program, settings.Workspace+"/") {
			continue
		}
		if err := role.Runnable(program, ""); err != nil {
			if settings.Pin != "" {
				program = strings.TrimPrefix(program, settings.Pin+"/")
			}
			return fmt.Sprintf("%s cannot be run: %s", program, err)
		}
	}
	return ""
}
