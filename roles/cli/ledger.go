package cli

import (
	"fmt"
	"time"

	"sett/blackboard/redis"
)

type ledgerCmd struct {
	Export ledgerExportCmd `cmd:"" help:"Write the ledger and every artefact as JSON lines."`
	Import ledgerImportCmd `cmd:"" help:"Read an export into an instance that has no artefacts yet."`
}

// Help is shown by `sett ledger --help`.
func (ledgerCmd) Help() string {
	return `Takes everything that happened out of an instance, and brings it into another: to keep a
copy, to move a clan to another machine, or to hand a goal's whole history to somebody.

Examples:
  sett ledger export --file ledger.jsonl
  sett ledger import ledger.jsonl`
}

const (
	progressAfter = 2 * time.Second // of silence something is said
	progressEvery = 2 * time.Second
)

// progress returns what tells people how far an export or import has come, when it
// takes long.
func (a *app) progress(doing string) func(redis.ExportCounts) {
	next := a.Now().Add(progressAfter)
	return func(c redis.ExportCounts) {
		if now := a.Now(); !now.Before(next) {
			next = now.Add(progressEvery)
			a.sayf("sett: %s: %s\n", doing, amount(c))
		}
	}
}

// amount says how much there is in an export.
func amount(c redis.ExportCounts) string {
	return fmt.Sprintf("%s, %s, %s of the ledger", count(c.Artefacts, "artefact"), count(c.Claims, "claim"), count(c.Events, "entry", "entries"))
}
