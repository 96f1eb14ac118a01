package blackboard

import "time"

// Opening is the outcome of an attempt to open an artefact's bidding claim.
type Opening string

// The outcomes of opening a claim.
const (
	Opened       Opening = "opened"        // now or before
	NotClaimable Opening = "not_claimable" // no such artefact, or an artefact that gets no claim
	OverLimit    Opening = "limit"         // its workflow has too many artefacts: refuse the claim
)

// BidRequest is one bid to submit.
type BidRequest struct {
	Claim, Agent string
	Bid          BidType
	Reason       string // for the ledger; empty: the bid simply follows the rule
	Rule         string // for the ledger: the entry of `bids:` that decided; empty: none did
	Line         int    // of Rule in sett.yml; 0: unknown
	// Relies is the claim's target as a notice gave it; nil when the claim was
	// read. A target that differs from it makes the bid ErrStale.
	Relies *Target
}

// Guard is checked before a decision is applied: the lead under which it was taken
// and the claim's revision on which it was taken.
type Guard struct {
	Epoch    string
	Claim    string
	Revision int64
	// Bids are the claim's bids as a notice gave them; nil when the claim was read.
	Bids []Bid
}

// Rework is the claim that follows feedback: on the same artefact, for the agent
// that made it.
type Rework struct {
	ClaimID string
	Agent   string
	Context []string // the Reviews with feedback
	// Question is put to a person before the rework begins; nil: there is none.
	Question *Artefact
}

// GrantRef names a grant as one holder has it.
type GrantRef struct {
	Claim, Agent string
	Attempt      int
	Holder       string
}

// StartRequest asks for a queued grant to be run by this holder.
type StartRequest struct {
	Claim, Agent, Holder string
	Ran                  Ran // for the ledger
}

// Ran names what a grant was run with. A part that is not known is empty, and the
// ledger has no field for it.
type Ran struct {
	Image   string `json:"image,omitempty"`   // id of the container's image; local mode has none
	Program string `json:"program,omitempty"` // digest of the file that the agent's command names, as sha256:HEX
	Config  string `json:"config,omitempty"`  // digest of the agent's part of the effective sett.yml, in hex
	Sett    string `json:"sett,omitempty"`    // the cub's version
	Pin     string `json:"pin,omitempty"`     // digest of the clan's pinned files, in hex; absent: the agent uses none
}

// Started is the work that a StartRequest brings.
type Started struct {
	Grant    Grant
	Claim    Claim
	Artefact Artefact
}

// HandBack returns a running grant to its queue, unfinished.
type HandBack struct {
	GrantRef
	Most   int // how often it may be, not counting when the instance was stopping
	Reason string
	Base   string // the commit that the tool's tree started from; empty: it had none
}

// Result is the artefact that a holder hands in for its grant.
type Result struct {
	GrantRef
	Artefact Artefact
	Verdict  Verdict // for a Review; see VerdictOf
	ToolTime time.Duration
	Base     string   // the commit that the tool's tree started from; empty: it had none
	Unmerged []string // artefacts with a commit that this tree lacked, because of conflicts
}
