package config

import (
	"slices"
	"strings"

	"sett/blackboard"
	"sett/contract/spelling"
)

// StrayGate is a pattern of approve that fits no type in any agent's bids.
type StrayGate struct {
	Pattern string
	Nearest string // the type of bids that may be meant; empty: none is near
}

// Bounds of StrayGates, against a file that is made to be slow.
const (
	mostStray   = 20   // patterns that are returned
	mostNearest = 1000 // types that a pattern is compared with
)

// StrayGates returns the first patterns of approve that fit no type in any agent's bids.
// Such a gate may hold a type that no agent bids on, or be misspelt, and then it holds
// nothing. A bid on every type ("*") names none.
func (c *Config) StrayGates() []StrayGate {
	types := []string{blackboard.TypeGoalDefined}
	for _, a := range c.Agents {
		for _, rule := range a.Bids {
			if strings.Trim(rule.Type, "*") != "" {
				types = append(types, rule.Type)
			}
		}
	}
	var stray []StrayGate
	for _, pattern := range c.Approve {
		if len(stray) < mostStray && !slices.ContainsFunc(types, func(named string) bool { return meet(pattern, named) }) {
			stray = append(stray, StrayGate{pattern, spelling.Nearest(pattern, types[:min(len(types), mostNearest)])})
		}
	}
	return stray
}

// meet says whether a type can fit both patterns. Two patterns with a '*' each agree
// about some type if their beginnings do and their ends do.
func meet(a, b string) bool {
	fromA, restA, wildA := strings.Cut(a, "*")
	fromB, restB, wildB := strings.Cut(b, "*")
	if !wildA || !wildB {
		return blackboard.Match(a, b) || blackboard.Match(b, a)
	}
	endA, endB := restA[strings.LastIndex(restA, "*")+1:], restB[strings.LastIndex(restB, "*")+1:]
	return (strings.HasPrefix(fromA, fromB) || strings.HasPrefix(fromB, fromA)) && (strings.HasSuffix(endA, endB) || strings.HasSuffix(endB, endA))
}
