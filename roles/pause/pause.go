// Package pause is the role that does nothing until it is told to end. Its
// container owns a network namespace that workers join.
package pause

import (
	"context"
	"fmt"

	"sett/roles/role"
)

const help = `Do nothing until told to end.

Usage: sett pause

A role that sett starts itself: its container owns the network namespace that the
workers of an agent join. It ends with 0 on SIGTERM or SIGINT.
`

// Run waits for the context to end, which is its purpose and no error.
func Run(ctx context.Context, e role.Env) error {
	if role.WantsHelp(e.Args) {
		_, err := fmt.Fprint(e.Stdout, help)
		return err
	}
	if len(e.Args) > 0 {
		return role.Fail(role.Usage, fmt.Errorf("pause: unexpected argument %q", e.Args[0]), "sett pause --help")
	}
	<-ctx.Done()
	return nil
}
