package role

import (
	"fmt"
	"strconv"

	"sett/contract/env"
)

// InTool says whether this process is a tool that Sett runs, or below one, and names
// Sett's process above it. Other systems than Linux know a tool by its environment alone.
func InTool(e Env) (above string, in bool) {
	return toolBelow("self", func() string { return e.Getenv(env.ClaimID) })
}

// ToolAt is InTool for another process of this machine. It sees that of any user; the
// environment, by which a tool is known that outlived its cub, only of this user's.
func ToolAt(pid int) (above string, in bool) {
	of := strconv.Itoa(pid)
	return toolBelow(of, func() string { return claimOf(of) })
}

func toolBelow(process string, claim func() string) (above string, in bool) {
	if pid, name, found := toolRunner(process); found {
		return fmt.Sprintf("%s, process %d", name, pid), true
	}
	if id := claim(); id != "" {
		return "claim " + id, true
	}
	return "", false
}
