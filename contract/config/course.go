package config

import (
	"sett/blackboard"
)

// TableBid returns the agent's bid on an artefact when its settings alone say it; false
// when its script or its model decides.
func (a Agent) TableBid(t blackboard.Target) (Choice, bool) {
	if a.scripted() && t.Agent != a.Name {
		return Choice{}, false
	}
	c := ChooseBid(a, t)
	return c, c.Bid != BidModel
}

// decisionSettings are the settings on which decisions about claims depend. Empty lists
// are nil, as after a way through JSON.
type decisionSettings struct {
	Orchestrator Orchestrator
	Approve      []string
	Agents       []bidderSettings
}

type bidderSettings struct {
	Name                             string
	Bids                             []BidRule
	Scripted, Model, Required, Fresh bool
}

// DecisionDigest returns a hash, in hex, of the settings on which decisions about claims
// depend. Courses of other settings count no more.
func (c *Config) DecisionDigest() string {
	s := decisionSettings{Orchestrator: c.Orchestrator, Approve: append([]string(nil), c.Approve...)}
	for _, a := range c.Agents {
		s.Agents = append(s.Agents, bidderSettings{
			Name: a.Name, Bids: append([]BidRule(nil), a.Bids...), Scripted: a.scripted(), Model: a.BidsByModel(""), Required: a.BidsRequired, Fresh: a.Fresh(),
		})
	}
	return digest(s)
}
