package config

import "sett/blackboard"

// Choice is a bid and its ground: an entry of `bids:`, or a reason in words.
type Choice struct {
	Bid    blackboard.BidType
	Reason string // empty: Rule decided
	Rule   string // the entry of `bids:` that decided, as sett.yml has it: "Code*: review"
	Line   int    // of Rule in sett.yml; 0: unknown
}

// ChooseBid returns an agent's bid by the rules of sett.yml: by its `bids:`, else
// exclusive; BidModel where the agent's model decides. An agent ignores its own results
// unless an entry has their exact type. (An agent with a `bid_script:` and no `bids:` asks the script instead.)
func ChooseBid(a Agent, t blackboard.Target) Choice {
	rule, exact, found := a.RuleFor(t.Type)
	switch {
	case t.Agent == a.Name && !exact:
		return Choice{Bid: blackboard.BidIgnore, Reason: "its own work"}
	case len(a.Bids) == 0 && a.BidsByModel(t.Type):
		return Choice{Bid: BidModel, Reason: "prompts.claim"}
	case len(a.Bids) == 0:
		return Choice{Bid: blackboard.BidExclusive, Reason: "default"}
	case !found:
		return Choice{Bid: blackboard.BidIgnore, Reason: "no entry of bids fits"}
	}
	return Choice{Bid: rule.Bid, Rule: rule.Type + ": " + string(rule.Bid), Line: rule.Line}
}
