package role

import (
	"fmt"

	"sett/contract/env"
)

// InTool says whether this process is a tool that Sett runs, or below one, and names
// Sett's process above it. Other systems than Linux know a tool by its environment alone.
func InTool(e Env) (above string, in bool) {
	if pid, name, found := toolRunner(); found {
		return fmt.Sprintf("%s, process %d", name, pid), true
	}
	if claim := e.Getenv(env.ClaimID); claim != "" {
		return "claim " + claim, true
	}
	return "", false
}
