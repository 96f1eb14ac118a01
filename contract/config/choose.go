package config

import "sett/blackboard"

// ChooseBid returns what an agent bids by the rules of sett.yml, and why: by its
// `bids:`, else exclusive. Unless an entry names the artefact's type without a
// wildcard, an agent ignores what it produced itself. (An agent with a
// `bid_script:` and no `bids:` asks the script instead.)
func ChooseBid(a Agent, t blackboard.Target) (bid blackboard.BidType, why string) {
	bid, exact, ok := a.BidFor(t.Type)
	switch {
	case t.Agent == a.Name && !exact:
		return blackboard.BidIgnore, "its own work"
	case !ok:
		return blackboard.BidExclusive, "default"
	}
	return bid, ""
}
