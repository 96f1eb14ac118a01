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

// RuleFor returns the entry of the agent's bids that decides about an artefact type. An
// entry without a wildcard wins, and exact is then true; else the first matching entry.
// found is false when none fits.
func (a Agent) RuleFor(artefactType string) (rule BidRule, exact, found bool) {
	for _, r := range a.Bids {
		wild := strings.Contains(r.Type, "*")
		if !wild && r.Type == artefactType {
			return r, true, true
		}
		if wild && !found && blackboard.Match(r.Type, artefactType) {
			rule, found = r, true
		}
	}
	return rule, false, found
}
