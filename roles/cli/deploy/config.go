package deploy

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sett/blackboard"
	"sett/contract/config"
	"sett/roles/cli/instance"
	"sett/roles/role"
)

// readConfig reads sett.yml and applies the flags of the command line. If neither
// names a runtime, the runtime of the existing instance stays: with another one it would
// have another, empty ledger.
func (u *upRun) readConfig() (f *facts, err error) {
	at, o := u.at, u.options
	f = &facts{sett: at.Build.String()}
	before, said := "", ""
	if in, err := at.Find(); err == nil {
		before = in.Runtime
	}
	if f.desired, f.file, err = at.Config(config.WithRuntime(o.Runtime), config.DefaultRuntime(before), config.NoteRuntime(&said)); err != nil {
		return nil, err
	}
	c := f.desired
	f.asBefore = o.Runtime == "" && said == "" && before == config.RuntimeProcess
	if f.rights, err = instance.Rights(at, c, said, f.file); err != nil {
		return nil, err
	}
	if o.RedisURL != "" {
		c.Redis.URL, c.Services.Redis.URL = o.RedisURL, o.RedisURL
	}
	if o.Orchestrator != "" && c.Runtime == config.RuntimeDocker {
		c.Orchestrator.Run = o.Orchestrator
	}
	if o.Embedded {
		if c.Redis.URL != "" {
			return nil, role.Fail(role.Usage, errors.New("--embedded: there is a Redis of your own already"), "leave out redis.url and --redis-url, or --embedded")
		}
		c.Services.Redis.Embedded = true
	}
	return f, nil
}

// gateTime is the time in which the blackboard may tell that it has a type.
const gateTime = 2 * time.Second

// StrayGates warns of patterns of approve that fit no type in any agent's bids and no
// artefact of the blackboard. A blackboard that does not tell in time counts as one
// without such an artefact; nil: there is none.
func StrayGates(ctx context.Context, b *instance.Board, c *config.Config) []string {
	var warnings []string
	ctx, cancel := context.WithTimeout(ctx, gateTime)
	defer cancel()
	for _, gate := range c.StrayGates() {
		if b != nil {
			made, err := b.Records.ListOutlines(ctx, blackboard.Filter{Type: gate.Pattern, Limit: 1, Broken: func(error) {}})
			if err == nil && len(made) > 0 {
				continue
			}
		}
		hint := ""
		if gate.Nearest != "" {
			hint = fmt.Sprintf("; did you mean %q?", gate.Nearest)
		}
		warnings = append(warnings, role.Clean(fmt.Sprintf("approve: %q fits no type in the agents' bids, and no artefact has such a type%s", gate.Pattern, hint)))
	}
	return warnings
}
