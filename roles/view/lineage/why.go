package lineage

import (
	"time"

	"sett/blackboard"
	"sett/roles/view"
)

// Why is the chain of claims that led from the goal to an artefact or claim.
type Why struct {
	Kind  blackboard.Kind `json:"kind"` // the kind of the id: artefact or claim
	ID    string          `json:"id"`
	Goal  string          `json:"workflow_id"`
	Took  float64         `json:"took_seconds"` // from the goal to the artefact, or to the opening of the claim
	Steps []Step          `json:"steps"`        // oldest first; the goal's own is the first

	Landing *blackboard.Landing `json:"landing,omitempty"` // of the goal's result, if the id is the goal's or the result's

	Broken []error `json:"-"` // claims of the chain that cannot be read
}

// Step is one claim of the chain, and the artefact that the next step came from.
type Step struct {
	Claim      *WhyClaim    `json:"claim"`    // null for the goal, and for an artefact without a claim
	Artefact   *view.Brief  `json:"artefact"` // null when the next step came from the claim's end
	Gate       *view.Gate   `json:"gate"`     // on the artefact; null when it needed no approval
	Sources    []view.Brief `json:"other_sources"`
	Unreadable string       `json:"unreadable,omitempty"` // the reason that the claim cannot be read

	Unread string `json:"-"` // the id of a claim that cannot be read
}

// WhyClaim is a claim with its reason and its outcome.
type WhyClaim struct {
	ID         string                 `json:"id"`
	ArtefactID string                 `json:"artefact_id"`
	Target     blackboard.Target      `json:"target"`
	Origin     blackboard.ClaimOrigin `json:"origin"`
	Because    string                 `json:"because"`            // why it was opened, in words
	Feedback   []view.Brief           `json:"feedback"`           // the Reviews that a rework answers
	RetryOf    string                 `json:"retry_of,omitempty"` // the claim it tries again
	RetriedAs  string                 `json:"retried_as,omitempty"`
	RetriedBy  string                 `json:"retried_by,omitempty"` // the person that asked for this retry
	RetryWhy   string                 `json:"retry_why,omitempty"`
	Cancelled  *WhyCancel             `json:"cancelled,omitempty"`
	Status     blackboard.ClaimStatus `json:"status"`
	Reason     string                 `json:"reason"`
	Bids       []WhyBid               `json:"bids"` // in the order they came in
	Grants     []WhyGrant             `json:"grants"`
	OpenedAt   time.Time              `json:"opened_at"`
	ClosedAt   time.Time              `json:"closed_at,omitzero"`
	BidsTook   *float64               `json:"bids_seconds,omitempty"` // from opening to the first grant, or to the end without any
	Took       *float64               `json:"took_seconds,omitempty"` // once it is closed
}

// WhyBid is a bid with its ground: an entry of the agent's bids in sett.yml, or words.
type WhyBid struct {
	blackboard.Bid
	Rule   string `json:"rule,omitempty"`
	Line   int    `json:"line,omitempty"` // of Rule in sett.yml, as the agent was started with it; absent in old ledgers
	Reason string `json:"reason,omitempty"`
}

// WhyCancel is the end of a claim, or of its goal, by a person.
type WhyCancel struct {
	FailureID   string    `json:"failure_id"`
	By          string    `json:"by"`
	Why         string    `json:"why"`
	CancelledAt time.Time `json:"cancelled_at"`
}

// WhyGrant is a grant with its result and its Questions.
type WhyGrant struct {
	Phase     blackboard.Phase      `json:"phase"`
	Agent     string                `json:"agent"`
	By        string                `json:"by,omitempty"` // the person
	Attempt   int                   `json:"attempt"`
	Crashes   int                   `json:"crashes"`
	State     blackboard.GrantState `json:"state"`
	Verdict   blackboard.Verdict    `json:"verdict,omitempty"`
	ResultID  string                `json:"result_id,omitempty"`
	Title     string                `json:"result_title,omitempty"` // its type and version
	Says      string                `json:"says,omitempty"`         // the gist of the result
	Reason    string                `json:"reason,omitempty"`
	Ran       blackboard.Ran        `json:"ran,omitzero"`       // what the last attempt was run with
	Base      string                `json:"base,omitempty"`     // the commit that its tool's tree started from
	Kept      bool                  `json:"kept"`               // from the claim that this one retries
	Unmerged  []WhyUnmerged         `json:"unmerged,omitempty"` // artefacts that this tree lacked, because of conflicts
	Models    []view.Spent          `json:"models,omitempty"`   // the calls of models that made the result
	Questions []WhyQuestion         `json:"questions"`
	QueuedAt  time.Time             `json:"queued_at"`
	StartedAt time.Time             `json:"started_at,omitzero"`
	EndedAt   time.Time             `json:"ended_at,omitzero"`
	Queued    *float64              `json:"queued_seconds,omitempty"` // of the last attempt
	Tool      *float64              `json:"tool_seconds,omitempty"`
	Took      *float64              `json:"took_seconds,omitempty"` // from start to end
}

// WhyUnmerged is an artefact whose commit conflicted with those of others.
type WhyUnmerged struct {
	ID    string `json:"id"`
	Title string `json:"title,omitempty"` // its type and version
	By    string `json:"by,omitempty"`
}

// WhyQuestion is a Question that a grant asked, and its Answer.
type WhyQuestion struct {
	ID         string    `json:"id"`
	Says       string    `json:"says"`
	AskedAt    time.Time `json:"asked_at,omitzero"`
	AnswerID   string    `json:"answer_id,omitempty"`
	Answer     string    `json:"answer,omitempty"`
	By         string    `json:"by,omitempty"`
	AnsweredAt time.Time `json:"answered_at,omitzero"`
	Waited     *float64  `json:"waited_seconds,omitempty"`
}
