package archive

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"sett/blackboard"
)

// hear takes the facts that an entry has of claims, bids and goals, whose lines came before it.
func (i *imports) hear(entry map[string]string) {
	i.heard.hear(i.entries.at, entry, i.artefacts)
	claim := entry["claim"]
	if entry["kind"] != string(blackboard.EventBid) || !i.known[claim] || i.bids[claim] != nil {
		return
	}
	bids, _ := i.listed.bids(claim)
	if err := compareBids(claim, bids, bidsIn(entry)); err != nil {
		i.bids[strings.Clone(claim)] = err
	}
}

// tellAltered names the claims and the goals that are not as the ledger has them. It is known that the clock was set back
// where the ledger says so.
func (i *imports) tellAltered() {
	if i.o.Altered == nil {
		return
	}
	clockTold := !i.entries.set.IsZero()
	for _, id := range slices.Sorted(maps.Keys(i.known)) {
		var err error
		if goal, ok := strings.CutPrefix(id, workflowOf("")); ok {
			err = i.records.compareGoal(goal, i.heard, clockTold)
		} else {
			err = cmp.Or(i.records.compareClaim(id, i.heard, i.artefacts, clockTold), i.bids[id])
		}
		if err != nil {
			i.o.Altered(err)
		}
	}
}
