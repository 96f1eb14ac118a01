package config

import "sett/blackboard"

// ChooseBid returns an agent's bid by the rules of sett.yml, and the reason: by its
// `bids:`, else exclusive. An agent ignores its own results unless an entry has their
// exact type. (An agent with a `bid_script:` and no `bids:` asks the script instead.)
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
