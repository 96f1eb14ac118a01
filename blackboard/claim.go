package blackboard

import (
	"slices"
	"time"
)

// ClaimStatus is a claim's place in its life. It only moves forward.
type ClaimStatus string

// The specification's five statuses.
const (
	PendingReview    ClaimStatus = "pending_review"
	PendingParallel  ClaimStatus = "pending_parallel"
	PendingExclusive ClaimStatus = "pending_exclusive"
	Complete         ClaimStatus = "complete"
	Terminated       ClaimStatus = "terminated"
)

// ClaimStatuses lists all statuses in the order a claim can take them.
var ClaimStatuses = []ClaimStatus{PendingReview, PendingParallel, PendingExclusive, Complete, Terminated}

// Closed says whether a claim of this status has ended.
func (s ClaimStatus) Closed() bool { return s == Complete || s == Terminated }

// ClaimOrigin says why a claim was opened.
type ClaimOrigin string

// The origins: a new artefact, feedback on one, a person's retry.
const (
	OriginArtefact ClaimOrigin = "artefact"
	OriginRework   ClaimOrigin = "rework"
	OriginRetry    ClaimOrigin = "retry"
)

// Claim is the record of the orchestrator's decisions about one artefact.
type Claim struct {
	ID                    string      `json:"id"`
	ArtefactID            string      `json:"artefact_id"`
	Status                ClaimStatus `json:"status"`
	GrantedReviewAgents   []string    `json:"granted_review_agents"`
	GrantedParallelAgents []string    `json:"granted_parallel_agents"`
	GrantedExclusiveAgent string      `json:"granted_exclusive_agent"`
	WorkflowID            string      `json:"workflow_id"`
	Origin                ClaimOrigin `json:"origin"`
	ExpectedBidders       []string    `json:"expected_bidders"`       // bidding waits for exactly these
	AdditionalContextIDs  []string    `json:"additional_context_ids"` // the feedback Reviews of a rework
	Rework                bool        `json:"rework"`                 // its result is the target's next version: a rework, or a retry of one
	RetryOf               string      `json:"retry_of,omitempty"`     // the claim that it tries again
	RetriedAs             string      `json:"retried_as,omitempty"`   // the claim that tries it again
	Revision              int64       `json:"revision"`               // one up with every change
	Reason                string      `json:"reason"`                 // why it was closed; empty: done
	OpenedAt              time.Time   `json:"opened_at"`
	ClosedAt              time.Time   `json:"closed_at,omitzero"`
	Target                Target      `json:"target"`

	Withheld map[string]Withheld `json:"-"` // by agent: bids that wait for a call of a model
}

// Withheld says why an agent's bid does not come: a call of its model is withheld. Such an agent is not
// silent.
type Withheld struct {
	Kind  WithheldKind
	Why   string // for people; may be empty
	Since time.Time
}

// WithheldKind is the kind of a reason to withhold a call of a model.
type WithheldKind string

// The kinds. A person ends each of them, and for a budget so may the end of calls under way.
const (
	WithheldBudget WithheldKind = "budget" // no budget has room for it
	WithheldPaused WithheldKind = "paused" // a person stopped all calls
)

// Target holds the facts about a claim's artefact on which bids and decisions depend.
// It is copied into the claim, so that neither costs a second read.
type Target struct {
	LogicalID string `json:"logical_id"`
	Version   int    `json:"version"`
	Type      string `json:"type"`
	Agent     string `json:"agent"` // its producer; empty for people
	Role      string `json:"role"`
}

// UsedUp says whether the artefact is the last version that max_review_iterations allows; 0 and less: any
// number.
func (t Target) UsedUp(iterations int) bool { return iterations > 0 && t.Version-1 >= iterations }

// ReworkBar returns the type of the Failure that feedback on an agent's artefact leads to where no rework can
// follow: its versions are used up and no person is asked (TypeReviewLimit), or its agent is not in the clan
// (TypeAgentRemoved). Empty: it is reworked.
func (t Target) ReworkBar(clan []string, iterations int, asks bool) string {
	switch {
	case t.UsedUp(iterations) && !asks:
		return TypeReviewLimit
	case !slices.Contains(clan, t.Agent):
		return TypeAgentRemoved
	}
	return ""
}

// BidType is an agent's interest in a claim.
type BidType string

// The four bids.
const (
	BidReview    BidType = "review"
	BidClaim     BidType = "claim" // work in parallel with the other agents that bid so
	BidExclusive BidType = "exclusive"
	BidIgnore    BidType = "ignore"
)

// BidTypes lists all bids.
var BidTypes = []BidType{BidReview, BidClaim, BidExclusive, BidIgnore}

// Valid says whether b is one of the four.
func (b BidType) Valid() bool {
	return b == BidReview || b == BidClaim || b == BidExclusive || b == BidIgnore
}

// Phase is a part of a claim's life in which grants run.
type Phase string

// The three phases, in order.
const (
	PhaseReview    Phase = "review"
	PhaseParallel  Phase = "parallel"
	PhaseExclusive Phase = "exclusive"
)

// Phases lists the phases in order.
var Phases = []Phase{PhaseReview, PhaseParallel, PhaseExclusive}

// Status returns the claim status in which grants of this phase run.
func (p Phase) Status() ClaimStatus {
	switch p {
	case PhaseReview:
		return PendingReview
	case PhaseParallel:
		return PendingParallel
	}
	return PendingExclusive
}

// Bid returns the bid that asks for a grant in this phase. It is also the
// claim_type that the tool reads.
func (p Phase) Bid() BidType {
	switch p {
	case PhaseReview:
		return BidReview
	case PhaseParallel:
		return BidClaim
	}
	return BidExclusive
}

// GrantState is a grant's place in its life.
type GrantState string

// The states. Done, Failed and Cancelled are final.
const (
	GrantQueued         GrantState = "queued"
	GrantRunning        GrantState = "running"
	GrantAwaitingAnswer GrantState = "awaiting_answer"
	GrantDone           GrantState = "done"
	GrantFailed         GrantState = "failed"
	GrantCancelled      GrantState = "cancelled"
)

// Ended says whether the state is final.
func (s GrantState) Ended() bool {
	return s == GrantDone || s == GrantFailed || s == GrantCancelled
}

// Grant is the permission for one agent to work on one claim in one phase, and the
// record of the result. An agent has at most one per claim.
type Grant struct {
	Agent      string        `json:"agent"`
	Phase      Phase         `json:"phase"`
	Attempt    int           `json:"attempt"`          // 1, then one up whenever the grant is queued again
	Holder     string        `json:"holder,omitempty"` // the incarnation that runs it
	State      GrantState    `json:"state"`
	ResultID   string        `json:"result_id,omitempty"`
	Verdict    Verdict       `json:"verdict,omitempty"`  // of the Review it produced
	Crashes    int           `json:"crashes,omitempty"`  // how often its holder died; bounded by the agent's retries
	Asked      []string      `json:"asked,omitempty"`    // its Questions and their Answers, in order
	AskedIn    int           `json:"asked_in,omitempty"` // the attempt that asked the newest Question
	AskedOf    string        `json:"asked_of,omitempty"` // the claim in which it did, where that failed and is tried again; empty: this one
	Failure    string        `json:"failure,omitempty"`  // the Failure that a person's retry is for
	Why        string        `json:"why,omitempty"`      // the person's words about that retry
	Conflict   string        `json:"conflict,omitempty"` // queued: the Conflict that it waits for
	Settled    []string      `json:"settled,omitempty"`  // artefacts that took the place of both sides of Conflicts
	Base       string        `json:"base,omitempty"`     // the commit that its tool's tree started from, when the result is there
	Unmerged   []string      `json:"unmerged,omitempty"` // artefacts with a commit that this tree lacked: it conflicts with those before it
	Reason     string        `json:"reason,omitempty"`
	QueuedAt   time.Time     `json:"queued_at"`
	LineSince  time.Time     `json:"line_since,omitzero"` // its place in its agent's queue, which it kept when the agent was stopped; zero: by queued_at
	StartedAt  time.Time     `json:"started_at,omitzero"`
	EndedAt    time.Time     `json:"ended_at,omitzero"`
	WaitsSince time.Time     `json:"waits_since,omitzero"` // running, and its cub waits for the repository, a person or the blackboard; zero: it does not
	WaitsFor   string        `json:"waits_for,omitempty"`  // then: model, of which all calls are paused, or blackboard, which does not take its result; absent: repository
	WaitsWhy   string        `json:"waits_why,omitempty"`  // then: the hindrance; absent: none is known
	Waited     time.Duration `json:"-"`                    // running: for its model, in this attempt, before its tool began
	ToolTime   time.Duration `json:"tool_time,omitempty"`  // from the tool's start to its being reaped
}

// WaitsForModel says whether a grant runs, and its tool begins when a person lets calls of models go on.
func (g Grant) WaitsForModel() bool {
	return g.State == GrantRunning && !g.WaitsSince.IsZero() && g.WaitsFor == string(WaitModel)
}

// Place is the time by which a queued grant stands in its agent's queue.
func (g Grant) Place() time.Time { return firstKnown(g.LineSince, g.QueuedAt) }

// OfAgent says whether a grant is an agent's. A person's review is a grant too; no
// claim waits for it, and it takes no agent's place.
func (g Grant) OfAgent() bool { return !IsHuman(g.Agent) }

// WorkspaceMode is the access of a grant's tool to the repository's working tree.
type WorkspaceMode string

// The modes.
const (
	ReadOnly    WorkspaceMode = "ro"
	ReadWrite   WorkspaceMode = "rw"
	NoWorkspace WorkspaceMode = "none" // there is no tree
)
