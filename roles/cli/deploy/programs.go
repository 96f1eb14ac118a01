package deploy

import (
	"fmt"
	"slices"

	"sett/contract/config"
	"sett/roles/role"
)

// MissingTool is a program that cannot be run now.
type MissingTool struct {
	Agent string // empty: the notifier
	Text  string // for people
}

// The consequences of a program that cannot be run.
const (
	goalsFail      = "every goal that reaches it will fail"
	nobodyNotified = "nobody will be notified until it can"
)

// MissingTools describes the programs of agents and of the notifier that cannot be run
// now. That is no error: another agent may make them later.
func MissingTools(c *config.Config, root string) []MissingTool {
	var missing []MissingTool
	for _, agent := range c.Agents {
		noBid := "it bids ignore on every claim"
		if agent.BidsRequired {
			noBid = "every claim will wait for its bid"
		}
		for _, p := range []struct {
			command []string
			so      string
		}{{agent.Command, goalsFail}, {agent.BidScript, noBid}} {
			if len(p.command) == 0 || agent.OwnLLM() && slices.Equal(p.command, agent.Command) {
				continue
			}
			if err := role.Runnable(p.command[0], root); err != nil {
				missing = append(missing, MissingTool{agent.Name, fmt.Sprintf("agent %s: %s cannot be run: %s; %s",
					agent.Name, role.Clean(p.command[0]), role.Clean(err.Error()), p.so)})
			}
		}
	}
	if c.Notify != nil {
		if err := role.Runnable(c.Notify.Command[0], root); err != nil {
			missing = append(missing, MissingTool{"", fmt.Sprintf("notify: %s cannot be run: %s; %s",
				role.Clean(c.Notify.Command[0]), role.Clean(err.Error()), nobodyNotified)})
		}
	}
	return missing
}
