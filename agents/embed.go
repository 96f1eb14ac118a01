// Package agents holds the agents that sett init writes, as files, which it copies into a
// workspace. None of it runs inside sett.
package agents

import "embed"

// Init has the files of sett init: sett.yml, and example-agent/ for the folder
// agents/ of the workspace.
//
//go:embed sett.yml example-agent
var Init embed.FS

// Examples has the files of sett init --example: for each kind KIND.yml, with agents as
// they stand under agents: in sett.yml, and the programs that they run.
//
//go:embed examples
var Examples embed.FS
