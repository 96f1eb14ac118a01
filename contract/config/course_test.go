package config

import (
	"encoding/json"
	"testing"

	"sett/blackboard"
)

func TestTableBid(t *testing.T) {
	rules := []BidRule{{Type: "Code*", Bid: "review"}, {Type: "Plan", Bid: BidModel}}
	for name, tc := range map[string]struct {
		agent Agent
		on    blackboard.Target
		want  blackboard.BidType
		known bool
	}{
		"by the table":             {Agent{Name: "a", Bids: rules}, blackboard.Target{Type: "CodeX"}, blackboard.BidReview, true},
		"the table wins":           {Agent{Name: "a", Bids: rules, BidScript: []string{"x"}}, blackboard.Target{Type: "Other"}, blackboard.BidIgnore, true},
		"the table asks the model": {Agent{Name: "a", Bids: rules}, blackboard.Target{Type: "Plan"}, BidModel, false},
		"neither":                  {Agent{Name: "a"}, blackboard.Target{Type: "T"}, blackboard.BidExclusive, true},
		"own work":                 {Agent{Name: "a"}, blackboard.Target{Type: "T", Agent: "a"}, blackboard.BidIgnore, true},
		"script":                   {Agent{Name: "a", BidScript: []string{"x"}}, blackboard.Target{Type: "T", Agent: "b"}, "", false},
		"own work, script":         {Agent{Name: "a", BidScript: []string{"x"}}, blackboard.Target{Type: "T", Agent: "a"}, blackboard.BidIgnore, true},
		"model":                    {Agent{Name: "a", LLM: &LLM{}, Prompts: Prompts{Claim: "?"}}, blackboard.Target{Type: "T"}, BidModel, false},
	} {
		if c, known := tc.agent.TableBid(tc.on); c.Bid != tc.want || known != tc.known {
			t.Errorf("%s: %+v, %v", name, c, known)
		}
	}
}

// The digest changes with all on which decisions depend, with nothing else, and not on the
// way to another process.
func TestDecisionDigest(t *testing.T) {
	source := "runtime: process\nagents: {a: {command: [x], bids: {T: review}}, b: {command: [y]}}"
	before := mustParse(t, source)
	raw, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	var after Config
	if err := json.Unmarshal(raw, &after); err != nil {
		t.Fatal(err)
	}
	if before.DecisionDigest() != after.DecisionDigest() {
		t.Error("it does not survive JSON")
	}
	for name, change := range map[string]struct {
		make func(*Config)
		same bool
	}{
		"command":  {func(c *Config) { c.Agents[0].Command = []string{"z"} }, true},
		"bids":     {func(c *Config) { c.Agents[0].Bids[0].Bid = "claim" }, false},
		"script":   {func(c *Config) { c.Agents[1].BidScript = []string{"s"} }, false},
		"strategy": {func(c *Config) { c.Agents[1].Strategy = StrategyFreshPerCall }, false},
		"approve":  {func(c *Config) { c.Approve = []string{"T"} }, false},
		"limit":    {func(c *Config) { c.Orchestrator.MaxArtefacts++ }, false},
		"gone":     {func(c *Config) { c.Agents = c.Agents[:1] }, false},
	} {
		c := mustParse(t, source)
		change.make(c)
		if same := c.DecisionDigest() == before.DecisionDigest(); same != change.same {
			t.Errorf("%s: the same %v", name, same)
		}
	}
}
