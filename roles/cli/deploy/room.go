package deploy

import (
	"fmt"
	"path/filepath"
	"strings"

	"sett/blackboard"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// noteRoom warns of agents whose grants are refused for now: their disk has less room than workspace.min_free.
func noteRoom(u *upRun) {
	dir := u.in.TreesDir()
	for !instance.Exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	left, told := role.Room(dir)
	if !told {
		return
	}
	var names []string
	for _, a := range u.c.Agents {
		if a.Workspace.Mode != blackboard.NoWorkspace && left < a.Workspace.MinFree {
			names = append(names, a.Name)
		}
	}
	if len(names) > 0 {
		u.facts.notices = append(u.facts.notices, fmt.Sprintf("warning: %s has %d MiB left, less than workspace.min_free: grants of %s fail until there is more room",
			role.Clean(dir), left>>20, strings.Join(names, ", ")))
	}
}
