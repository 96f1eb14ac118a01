package blackboard

import "slices"

// Bid is one agent's bid on a claim.
type Bid struct {
	Agent string  `json:"agent"`
	Type  BidType `json:"bid"`
}

// Snapshot is a claim with everything a decision about it needs, read at one
// moment: that of the claim's revision.
type Snapshot struct {
	Claim  Claim   `json:"claim"`
	Bids   []Bid   `json:"bids"`   // in the order they came in
	Grants []Grant `json:"grants"` // sorted by agent
}

// Grant returns the agent's grant.
func (s Snapshot) Grant(agent string) (Grant, bool) {
	for _, g := range s.Grants {
		if g.Agent == agent {
			return g, true
		}
	}
	return Grant{}, false
}

// HasBid says whether the agent's bid is in.
func (s Snapshot) HasBid(agent string) bool {
	for _, b := range s.Bids {
		if b.Agent == agent {
			return true
		}
	}
	return false
}

// Suspended says whether only a person can take the claim on: one of its grants
// awaits an Answer or waits for its model, and no other can be started, is running or failed; or bids are all that
// it waits for, and each is withheld.
func (s Snapshot) Suspended() bool {
	awaits := false
	for _, g := range s.Grants {
		switch {
		case g.Waiting(): // others' work takes it on
		case g.WaitsForModel():
			awaits = true
		case g.State == GrantQueued, g.State == GrantRunning, g.State == GrantFailed: // the orchestrator acts on a failure
			return false
		case g.State == GrantAwaitingAnswer:
			awaits = true
		}
	}
	return (awaits || !s.Blocked() && len(s.WithheldBids()) > 0) && !s.Claim.Status.Closed()
}

// WithheldBids returns the agents on whose bids the claim waits, in its order, where a call of the model
// of each is withheld; none where it waits for something else, too.
func (s Snapshot) WithheldBids() []string {
	missing := s.Missing()
	against := func(g Grant) bool { return g.Phase == PhaseReview && g.Verdict != Approve }
	isAsked := func(agent string) bool { _, withheld := s.Claim.Withheld[agent]; return !withheld }
	if s.Claim.Status != PendingReview || slices.ContainsFunc(s.Grants, against) || slices.ContainsFunc(missing, isAsked) {
		return nil
	}
	return missing
}

// FedBack says whether all work in the claim ended well, and a Review has feedback.
func (s Snapshot) FedBack() bool {
	against := false
	for _, g := range s.Grants {
		if g.State != GrantDone {
			return false
		}
		against = against || g.Phase == PhaseReview && g.Verdict != Approve
	}
	return against
}

// Missing returns the expected bidders whose bids are not in, in the claim's
// order, each once.
func (s Snapshot) Missing() []string {
	var missing []string
	for _, agent := range s.Claim.ExpectedBidders {
		if !s.HasBid(agent) && !slices.Contains(missing, agent) {
			missing = append(missing, agent)
		}
	}
	return missing
}
