package view

import (
	"encoding/json"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
)

// LeftInModules says that a result lacks what its tool changed in submodules; empty: it changed nothing there.
func LeftInModules(a blackboard.Artefact) string {
	var m struct {
		Changed []string `json:"changed_submodules"`
	}
	if json.Unmarshal(a.Metadata, &m) != nil || len(m.Changed) == 0 {
		return ""
	}
	return "what the tool changed in submodules is not in its result: " + role.Clean(strings.Join(m.Changed, ", "))
}
