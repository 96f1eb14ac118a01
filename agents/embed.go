// Package agents holds the example agent as files, which sett init copies into a
// workspace. None of it runs inside sett.
package agents

import "embed"

// Init has the files of sett init: sett.yml, and example-agent/ for the folder
// agents/ of the workspace.
//
//go:embed sett.yml example-agent
var Init embed.FS
