package arbiter

import (
	"slices"
	"time"

	"sett/blackboard"
)

// bidding says whether the claim still collects bids: it is where it was opened,
// and no agent has been granted anything.
func bidding(s blackboard.Snapshot) bool {
	return s.Claim.Status == blackboard.PendingReview && !slices.ContainsFunc(s.Grants, blackboard.Grant.OfAgent)
}

// decideSilent handles missing bids. Agents that have left the clan come first: nobody
// waits for them. An agent without access to its model is not silent.
func decideSilent(s blackboard.Snapshot, p Policy, now time.Time, missing []string) Decision {
	var gone []string
	for _, agent := range missing {
		if !slices.Contains(p.Clan, agent) {
			gone = append(gone, agent)
		}
	}
	if len(gone) > 0 {
		return Decision{Kind: RecordIgnores, Agents: gone, Reason: ReasonAgentRemoved}
	}
	d := Decision{Kind: Wait}
	missing = slices.DeleteFunc(slices.Clone(missing), func(agent string) bool {
		_, withheld := s.Claim.Withheld[agent]
		return withheld || slices.Contains(p.BidsRequired, agent)
	})
	if p.BidTimeout > 0 && len(missing) > 0 {
		deadline := s.Claim.OpenedAt.Add(p.BidTimeout)
		if !now.Before(deadline) {
			return Decision{Kind: RecordIgnores, Agents: missing, Reason: ReasonBidTimeout}
		}
		d.AskAgain = deadline
	}
	return d
}

// bidders returns the agents that get a grant of a phase, in the order of their bids.
// Each bid for the phase, was expected to bid, is still in the clan, and has no grant
// on this claim yet.
func bidders(s blackboard.Snapshot, p Policy, phase blackboard.Phase) []string {
	var agents []string
	for i, b := range s.Bids {
		if b.Type != phase.Bid() || !slices.Contains(s.Claim.ExpectedBidders, b.Agent) ||
			!slices.Contains(p.Clan, b.Agent) {
			continue
		}
		if _, granted := s.Grant(b.Agent); granted || bidBefore(s.Bids[:i], b.Agent) {
			continue
		}
		agents = append(agents, b.Agent)
		if phase == blackboard.PhaseExclusive {
			break // the first bid wins
		}
	}
	return agents
}

// bidBefore says whether the agent is among the bidders: only its first bid counts.
func bidBefore(bids []blackboard.Bid, agent string) bool {
	return slices.ContainsFunc(bids, func(b blackboard.Bid) bool { return b.Agent == agent })
}
