package cli

import (
	"time"

	"sett/roles/cli/deploy"
)

type downCmd struct {
	All          bool          `help:"End every instance of this user, and all that the container engine has of Sett."`
	Purge        bool          `help:"Also remove what is kept: the ledger, the logs, commits that were not landed, leftovers, the instance's name."`
	LeaveRecords bool          `help:"With --purge: leave the records on a Redis of your own, as where it is gone for good."`
	Yes          bool          `short:"y" help:"Do not ask."`
	Timeout      time.Duration `placeholder:"DURATION" help:"Wait no longer than this for another sett up or down to end (default, and 0: for ever)."`
}

// Help is shown by `sett down --help`.
func (downCmd) Help() string {
	return `Stops the instance: no new work is taken, running tools get their grace period and
are ended then, with their claims put back. What happened is kept, and the next
sett up goes on from there. Also cleans up after a sett up that was killed, and, with
--name, what the container engine has, or what runs here, of an instance that is known
nowhere else: its state directory was removed.

A --purge that cannot remove the records from a Redis of your own, because that does
not answer or refuses the login, ends with 7 and removes nothing; --leave-records
removes the rest.

Examples: sett down
          sett down --name my-sett --purge --yes
          sett down --all`
}

// Run stops the instance, or all.
func (c *downCmd) Run(a *app) error {
	o := deploy.DownOptions{All: c.All, Purge: c.Purge, LeaveRecords: c.LeaveRecords, Yes: c.Yes, Timeout: c.Timeout}
	return deploy.Down(a.ctx, a.at, o)
}
