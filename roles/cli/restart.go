package cli

import (
	"time"

	"sett/roles/cli/deploy"
)

type restartCmd struct {
	Agent   string        `arg:"" help:"The agent's name in sett.yml, or notifier, repository or model-gateway."`
	Timeout time.Duration `default:"60s" placeholder:"DURATION" help:"How long it may take until it is ready again; 0 for as long as it takes (default 60s)."`
}

// Help is shown by `sett restart --help`.
func (restartCmd) Help() string {
	return `Stops one agent and starts it again, and waits until it is ready. A running tool gets
its grace period. For changes in sett.yml, sett up is enough. While the repository, which
prepares the agents' trees, restarts, tools go on, and results wait for it. The notifier
goes on behind the last event that it has told.

Example: sett restart example-agent`
}

// Run restarts the agent.
func (c *restartCmd) Run(a *app) error { return deploy.Restart(a.ctx, a.at, c.Agent, c.Timeout) }
