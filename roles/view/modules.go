package view

import (
	"encoding/json"
	"strings"

	"sett/blackboard"
	"sett/roles/role"
)

// LeftInModules says that a result lacks changes of its tool in submodules; empty: there are none.
func LeftInModules(a blackboard.Artefact) string {
	var m struct {
		Changed []string `json:"changed_submodules"`
	}
	if json.Unmarshal(a.Metadata, &m) != nil || len(m.Changed) == 0 {
		return ""
	}
	return "what the tool changed in submodules is not in its result: " + role.Clean(strings.Join(m.Changed, ", "))
}
