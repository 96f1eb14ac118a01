package view

import (
	"strings"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
)

// Up ends a sentence about a claim that begins again: a Question waits for an answer, or which
// agents work on it or have yet to bid; empty: nobody is up.
func Up(c blackboard.Snapshot) string {
	var agents []string
	for _, g := range c.Grants {
		if g.State == blackboard.GrantAwaitingAnswer {
			return "; Question " + words.Short(g.ResultID) + " waits for an answer again"
		}
		if !g.State.Ended() {
			agents = append(agents, g.Agent)
		}
	}
	switch missing := c.Missing(); {
	case len(agents) > 0:
		return ", by " + role.Clean(strings.Join(agents, ", "))
	case len(missing) > 0 && c.Claim.Status == blackboard.PendingReview:
		return "; " + role.Clean(strings.Join(missing, ", ")) + " have yet to bid"
	}
	return ""
}
