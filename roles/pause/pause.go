// Package pause is the role that does nothing until it is told to end. Its
// container owns a network namespace that workers join.
package pause

import (
	"context"
	"errors"

	"sett/roles/role"
)

const help = `Do nothing until told to end.

Usage: sett pause

sett starts it: its container owns the network namespace that the workers of an
agent join. It ends with 0 on SIGTERM or SIGINT.
`

// Run waits for the end of the context, which is no error.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("pause", help); done {
		return err
	}
	if role.IsTerminal(e.Stdin) || role.IsTerminal(e.Stdout) {
		return role.Fail(role.Usage, errors.New("pause is a part of sett that containers run; it does nothing for a person"),
			"docker pause CONTAINER pauses an agent, sett down stops the instance")
	}
	<-ctx.Done()
	return nil
}
