package config

import (
	"strings"

	"sett/blackboard"
)

// BidRule is one entry of an agent's bids: the bid on artefacts of matching types.
type BidRule struct {
	Type string             `json:"type"` // '*' stands for any characters, also none
	Bid  blackboard.BidType `json:"bid"`
}

// BidFor returns the agent's bid on an artefact type. An entry without a wildcard
// wins, and exact is then true; else the first matching entry, else ignore. ok is
// false when the agent has no bids at all.
func (a Agent) BidFor(artefactType string) (bid blackboard.BidType, exact, ok bool) {
	if len(a.Bids) == 0 {
		return "", false, false
	}
	bid = blackboard.BidIgnore
	matched := false
	for _, rule := range a.Bids {
		wild := strings.Contains(rule.Type, "*")
		if !wild && rule.Type == artefactType {
			return rule.Bid, true, true
		}
		if wild && !matched && blackboard.Match(rule.Type, artefactType) {
			bid, matched = rule.Bid, true
		}
	}
	return bid, false, true
}
