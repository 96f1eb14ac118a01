package config

import (
	"slices"
	"strings"

	"sett/blackboard"
)

// Flow is the way of work through a clan, as far as sett.yml says it.
type Flow struct {
	Types      []*FlowType `json:"types"`      // that sett.yml names: in the order in which a goal leads to them, then the others
	Undeclared []string    `json:"undeclared"` // agents that say no makes, and so may make any type

	config *Config
	index  map[string]*FlowType
}

// FlowType is an artefact type on its way through the clan.
type FlowType struct {
	Name      string   `json:"type"`
	Makers    []string `json:"made_by"`           // agents that say so; none: a goal, or nobody, or the undeclared
	Final     []string `json:"final_by"`          // the makers whose every result is final
	Gate      bool     `json:"gate"`              // it waits for a person first
	Review    []string `json:"review"`            // agents that review it
	Parallel  []string `json:"parallel"`          // agents that work on it beside each other
	Exclusive []string `json:"exclusive"`         // agents of which one works on it alone
	Scripts   []string `json:"scripts"`           // agents whose bid_script or model decides
	Reached   bool     `json:"reached"`           // a goal leads to it
	Lands     bool     `json:"lands,omitempty"`   // the repository makes it of a result that is about to land
	Settles   bool     `json:"settles,omitempty"` // the repository makes it of commits of one goal that do not merge
}

// Claimed says whether an artefact of the type may get a claim. Final results get none.
func (t *FlowType) Claimed() bool {
	return t.Name == blackboard.TypeGoalDefined || t.Lands || t.Settles || len(t.Makers) > len(t.Final)
}

// Workers are the agents that may make something of an artefact of the type.
func (t *FlowType) Workers() []string { return slices.Concat(t.Parallel, t.Exclusive, t.Scripts) }

// Flow derives the way of work.
func (c *Config) Flow() *Flow {
	f := &Flow{Types: []*FlowType{}, Undeclared: []string{}, config: c, index: map[string]*FlowType{}}
	f.named(blackboard.TypeGoalDefined)
	for _, a := range c.Agents {
		if a.works() && len(a.Adapter.Makes) == 0 {
			f.Undeclared = append(f.Undeclared, a.Name)
		}
		for _, name := range a.Makes() {
			t := f.named(name)
			t.Makers = append(t.Makers, a.Name)
			if a.final() {
				t.Final = append(t.Final, a.Name)
			}
		}
	}
	if c.Verifies() {
		f.named(blackboard.TypeLanding).Lands = true
	}
	for _, a := range c.Agents {
		for _, rule := range a.Bids {
			if !strings.Contains(rule.Type, "*") {
				f.named(rule.Type)
			}
		}
	}
	if slices.Contains(c.Approve, blackboard.TypeConflict) {
		f.named(blackboard.TypeConflict)
	}
	if t := f.index[blackboard.TypeConflict]; t != nil && len(t.Makers) == 0 {
		t.Settles = true
	}
	for _, t := range f.Types {
		f.bids(t)
		t.Gate = c.gates(t.Name)
	}
	f.reach()
	return f
}

// named returns the type of a name.
func (f *Flow) named(name string) *FlowType {
	t := f.index[name]
	if t == nil {
		t = &FlowType{Name: name, Makers: []string{}, Final: []string{}, Review: []string{}, Parallel: []string{}, Exclusive: []string{}, Scripts: []string{}}
		f.index[name] = t
		f.Types = append(f.Types, t)
	}
	return t
}

// bids notes the agents' bids on a type. The bid on work of one's own counts only where
// nobody else makes the type, and a type of final results gets none.
func (f *Flow) bids(t *FlowType) {
	if !t.Claimed() && len(t.Makers) > 0 && len(f.Undeclared) == 0 {
		return
	}
	for _, a := range f.config.Agents {
		if a.scripted() {
			t.Scripts = append(t.Scripts, a.Name)
			continue
		}
		target := blackboard.Target{Type: t.Name}
		if makers := slices.Concat(t.Makers, f.Undeclared); len(makers) == 1 && !t.Lands && !t.Settles && t.Name != blackboard.TypeGoalDefined {
			target.Agent = makers[0]
		}
		switch ChooseBid(a, target).Bid {
		case BidModel:
			t.Scripts = append(t.Scripts, a.Name)
		case blackboard.BidReview:
			t.Review = append(t.Review, a.Name)
		case blackboard.BidClaim:
			t.Parallel = append(t.Parallel, a.Name)
		case blackboard.BidExclusive:
			t.Exclusive = append(t.Exclusive, a.Name)
		}
	}
}

// reach follows the work from a goal, and sorts the types by it.
func (f *Flow) reach() {
	reached := []*FlowType{f.index[blackboard.TypeGoalDefined]}
	reached[0].Reached = true
	add := func(t *FlowType) {
		if !t.Reached {
			t.Reached = true
			reached = append(reached, t)
		}
	}
	for i := 0; i < len(reached); i++ {
		if t := f.index[blackboard.TypeConflict]; t != nil && t.Settles && len(reached[i].Workers()) > 0 {
			add(t)
		}
		for _, name := range reached[i].Workers() {
			a, _ := f.config.Agent(name)
			for _, made := range a.Makes() {
				add(f.index[made])
			}
			if a.MayEnd() {
				if landing := f.index[blackboard.TypeLanding]; landing != nil && landing.Lands {
					add(landing)
				}
			}
			if slices.Contains(f.Undeclared, name) {
				for _, t := range f.Types {
					add(t)
				}
			}
		}
	}
	for _, t := range f.Types {
		if !t.Reached {
			reached = append(reached, t)
		}
	}
	f.Types = reached
}

// Joined says whether the agent's results are used without a bid on them: an exclusive grant
// on the same artefact gets them as context, or the claim of a conflict goes on with them.
func (f *Flow) Joined(agent string) bool {
	return slices.ContainsFunc(f.Types, func(t *FlowType) bool {
		return slices.Contains(t.Parallel, agent) && len(t.Exclusive) > 0 || t.Settles && slices.Contains(t.Workers(), agent)
	})
}

// Closed says whether every agent that makes something says what.
func (f *Flow) Closed() bool {
	return len(f.Undeclared) == 0 && slices.ContainsFunc(f.config.Agents, Agent.works)
}

// declares says whether any agent says what it makes.
func (f *Flow) declares() bool {
	return slices.ContainsFunc(f.Types, func(t *FlowType) bool { return len(t.Makers) > 0 })
}

// Makes are the types that the agent says it makes; an agent that only reviews makes none.
func (a Agent) Makes() []string {
	if !a.works() {
		return nil
	}
	return a.Adapter.Makes
}

// final says whether every result of the agent is final.
func (a Agent) final() bool {
	return a.Adapter.Terminal && !a.decided() && !a.bidsOn(blackboard.BidClaim)
}

// MayEnd says whether a result of the agent may be final: by terminal, or since its
// program chooses.
func (a Agent) MayEnd() bool {
	return a.Adapter.Terminal && (a.bidsOn(blackboard.BidExclusive) || a.asksModel() || len(a.Bids) == 0) || a.Adapter.Kind == "" && a.works()
}

// settled says whether each success of the agent is a result that is not final.
func (a Agent) settled() bool { return a.Adapter.Kind != "" && !a.MayEnd() }

// scripted says whether a program decides the agent's bids.
func (a Agent) scripted() bool { return len(a.Bids) == 0 && len(a.BidScript) > 0 }

// decided says whether a program or a model decides some of the agent's bids.
func (a Agent) decided() bool {
	return a.scripted() || a.asksModel() || len(a.Bids) == 0 && a.BidsByModel("")
}

func (a Agent) bidsOn(bid blackboard.BidType) bool {
	return slices.ContainsFunc(a.Bids, func(r BidRule) bool { return r.Bid == bid })
}
