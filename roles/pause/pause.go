// Package pause is the role that does nothing until it is told to end. Its
// container owns a network namespace that workers join.
package pause

import (
	"context"

	"sett/roles/role"
)

const help = `Do nothing until told to end.

Usage: sett pause

A role that sett starts itself: its container owns the network namespace that the
workers of an agent join. It ends with 0 on SIGTERM or SIGINT.
`

// Run waits for the context to end, which is its purpose and no error.
func Run(ctx context.Context, e role.Env) error {
	if done, err := e.Arguments("pause", help); done {
		return err
	}
	<-ctx.Done()
	return nil
}
