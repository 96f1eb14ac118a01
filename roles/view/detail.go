package view

import "sett/blackboard"

// GrantDetail is a grant with its result. Durations are in seconds, as in all output
// for programs.
type GrantDetail struct {
	blackboard.Grant
	Hidden      *struct{} `json:"tool_time,omitempty"` // the name of the grant's, which is in nanoseconds
	ToolSeconds float64   `json:"tool_seconds,omitempty"`
	By          string    `json:"by,omitempty"` // the person, where it is a person's
	Result      *Meta     `json:"result,omitempty"`
	Says        string    `json:"says,omitempty"` // the gist of the result
}

// ClaimDetail is a claim with its bids, grants and waits.
type ClaimDetail struct {
	Kind   string           `json:"kind"` // "claim"
	Claim  blackboard.Claim `json:"claim"`
	Bids   []blackboard.Bid `json:"bids"`
	Grants []GrantDetail    `json:"grants"`
	Waits  []Wait           `json:"waits"` // empty when it is closed
}

// ClaimAlone is a claim that is shown without its goal.
type ClaimAlone struct {
	ClaimDetail
	Chain []Version `json:"rework_chain"` // empty without rework
}

// GoalDetail is a goal with its claims.
type GoalDetail struct {
	Kind     string              `json:"kind"` // "goal"
	Workflow blackboard.Workflow `json:"workflow"`
	Text     string              `json:"text"`
	Altered  bool                `json:"altered,omitempty"` // the goal's own record differs from its entry in the ledger
	Base     string              `json:"base,omitempty"`    // the commit that it starts from; absent: an older sett posted it
	Branch   string              `json:"branch,omitempty"`  // that this commit was on; absent: none
	Claims   []ClaimDetail       `json:"claims"`            // oldest first
	Waits    []Wait              `json:"waits"`
	More     int                 `json:"waits_more,omitempty"` // open work that was not looked at
	Outcome  string              `json:"outcome,omitempty"`    // the gist of its Terminal or Failure

	// Budgets for models, of the goal or of a grant, of which more was used than they had.
	Over *blackboard.Exceeded `json:"over_budget,omitempty"`
}

// ArtefactDetail is an artefact with its place in the graph.
type ArtefactDetail struct {
	Kind     string      `json:"kind"` // "artefact"
	Artefact Meta        `json:"artefact"`
	Excerpt  string      `json:"excerpt"` // how the payload begins
	Sources  []Meta      `json:"sources"`
	Children []Meta      `json:"children"`
	Claim    *ClaimAlone `json:"claim"`          // on it, the last one of those that were retried; null when it has none
	Gate     *Gate       `json:"gate,omitempty"` // absent: it never had to be approved
}

// Version is one version of a thread, and the claim that judged it.
type Version struct {
	Artefact string                 `json:"artefact_id"`
	Version  int                    `json:"version"`
	Claim    string                 `json:"claim_id,omitempty"`
	Status   blackboard.ClaimStatus `json:"status,omitempty"`          // of that claim
	Rework   string                 `json:"rework_claim_id,omitempty"` // the claim under which the next version is made
	Agent    string                 `json:"agent,omitempty"`           // makes the next version
}
