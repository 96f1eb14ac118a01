package config

import (
	"strings"

	"sett/blackboard"
)

// BidRule is one entry of an agent's bids: what to bid on artefacts whose type
// matches.
type BidRule struct {
	Type string             `json:"type"` // '*' stands for any characters, also none
	Bid  blackboard.BidType `json:"bid"`
}

// Match says whether an artefact type fits a pattern, in which '*' stands for
// any characters, also none, and everything else for itself.
func Match(pattern, artefactType string) bool {
	parts := strings.Split(pattern, "*")
	last := len(parts) - 1
	if last == 0 {
		return pattern == artefactType
	}
	rest, ok := strings.CutPrefix(artefactType, parts[0])
	if !ok {
		return false
	}
	for _, part := range parts[1:last] {
		// The earliest fit leaves most for what follows.
		if _, rest, ok = strings.Cut(rest, part); !ok {
			return false
		}
	}
	return strings.HasSuffix(rest, parts[last])
}

// BidFor returns what the agent's bids say about an artefact type. An entry
// without a wildcard wins, and exact is then true; else the first that matches,
// else ignore. ok is false when the agent has no bids at all.
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
		if wild && !matched && Match(rule.Type, artefactType) {
			bid, matched = rule.Bid, true
		}
	}
	return bid, false, true
}
