// Package agents holds the agents that come with sett, as files to copy: what
// sett init writes into a workspace. Nothing in it runs inside sett.
package agents

import "embed"

// Init is what sett init writes: sett.yml, and example-agent/ for the folder
// agents/ of the workspace.
//
//go:embed sett.yml example-agent
var Init embed.FS
