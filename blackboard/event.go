package blackboard

import "time"

// EventKind names the move that an entry of the ledger records. There is one
// entry per atomic change.
type EventKind string

// The kinds of events.
const (
	EventGoal      EventKind = "goal"      // a goal was posted
	EventOpen      EventKind = "open"      // a claim was opened
	EventRefuse    EventKind = "refuse"    // an artefact gets no claim (limit)
	EventBid       EventKind = "bid"       // an agent bid, or silence became a bid
	EventGrant     EventKind = "grant"     // a phase was granted
	EventAssign    EventKind = "assign"    // a waiting worker was told its one claim
	EventWait      EventKind = "wait"      // a grant waits for the workspace
	EventStart     EventKind = "start"     // an agent began to work
	EventResult    EventKind = "result"    // a grant ended with an artefact
	EventRequeue   EventKind = "requeue"   // a grant went back to its queue
	EventAnswer    EventKind = "answer"    // a person answered
	EventComplete  EventKind = "complete"  // a claim is complete
	EventTerminate EventKind = "terminate" // a claim was terminated
	EventRestore   EventKind = "restore"   // the working tree was put back
	EventAgent     EventKind = "agent"     // an agent came or went
	EventLeader    EventKind = "leader"    // an orchestrator took the lead
	EventInstance  EventKind = "instance"  // the instance starts or stops
	EventPolicy    EventKind = "policy"    // other types of artefacts want approval
	EventApprove   EventKind = "approve"   // a person opened a gate
	EventReject    EventKind = "reject"    // a person closed one for good, with feedback
	EventReview    EventKind = "review"    // a person reviewed
	EventCancel    EventKind = "cancel"    // a person ended a claim or a goal
	EventRetry     EventKind = "retry"     // a person had a failed claim tried again
	EventImport    EventKind = "import"    // what an export holds was taken in
)

// Event is one entry of the ledger. Fields that do not apply are empty.
type Event struct {
	ID         string            `json:"id"` // position in the stream
	Time       time.Time         `json:"time"`
	Kind       EventKind         `json:"kind"`
	Workflow   string            `json:"workflow_id,omitempty"`
	Claim      string            `json:"claim_id,omitempty"`
	Artefact   string            `json:"artefact_id,omitempty"`
	Agent      string            `json:"agent,omitempty"`
	Phase      string            `json:"phase,omitempty"`
	From       string            `json:"from,omitempty"`
	To         string            `json:"to,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"` // whatever else the move recorded
}
