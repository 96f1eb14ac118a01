package cli

import (
	"sett/roles/cli/doctor"
	"sett/roles/cli/term"
)

type doctorCmd struct {
	term.Form
}

// Help is shown by `sett doctor --help`.
func (doctorCmd) Help() string {
	return `Looks at everything that Sett needs here, and says what is wrong and what to do about
it. It changes nothing, pulls nothing, and takes five seconds at most. It works outside
of any workspace, too; with --name it looks at that instance.

A check is ok, a warning (it works, but not as well as it could), a problem (what you
want will not work), or skipped, with the reason. The exit code is 7 when there is a
problem, and 0 otherwise. An engine that is missing is a problem where sett.yml has
runtime: docker in it, or an instance runs in containers, and a warning elsewhere:
sett up --runtime process needs none.

Examples: sett doctor
          sett doctor -o json`
}

// Run runs all checks.
func (c *doctorCmd) Run(a *app) error { return doctor.Run(a.ctx, a.at, c.Form) }
