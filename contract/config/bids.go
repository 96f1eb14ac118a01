package config

import (
	"slices"
	"strings"

	"sett/blackboard"
)

// BidRule is one entry of an agent's bids: the bid on artefacts of matching types.
type BidRule struct {
	Type string             `json:"type"` // '*' stands for any characters, also none
	Bid  blackboard.BidType `json:"bid"`
	Line int                `json:"line,omitempty"` // of its file; 0: unknown. It decides nothing, and is in no digest
}

// withoutLines are the entries as they decide.
func withoutLines(rules []BidRule) []BidRule {
	rules = slices.Clone(rules)
	for i := range rules {
		rules[i].Line = 0
	}
	return rules
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
