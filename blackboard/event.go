package blackboard

import (
	"strconv"
	"time"
)

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
	EventWait      EventKind = "wait"      // a grant waits for the repository, for its model, or for the blackboard to take its result, or a bid for a call of a model, or waits no longer; of a Sett of before: for the workspace
	EventStart     EventKind = "start"     // an agent began to work
	EventResult    EventKind = "result"    // a grant ended with an artefact
	EventRequeue   EventKind = "requeue"   // a grant went back to its queue
	EventAnswer    EventKind = "answer"    // a person answered
	EventComplete  EventKind = "complete"  // a claim is complete
	EventTerminate EventKind = "terminate" // a claim was terminated
	EventRestore   EventKind = "restore"   // the working tree was put back, by a Sett of before
	EventAgent     EventKind = "agent"     // an agent came or went
	EventLeader    EventKind = "leader"    // an orchestrator took the lead
	EventInstance  EventKind = "instance"  // the instance starts or stops
	EventPolicy    EventKind = "policy"    // other types of artefacts want approval
	EventApprove   EventKind = "approve"   // a person opened a gate
	EventReject    EventKind = "reject"    // a person closed one for good, with feedback
	EventReview    EventKind = "review"    // a person reviewed
	EventCancel    EventKind = "cancel"    // a person ended a claim or a goal
	EventRetry     EventKind = "retry"     // a person retried a failed claim
	EventImport    EventKind = "import"    // an export was read in
	EventLanding   EventKind = "landing"   // the landing of a goal's result went a step further
	EventLand      EventKind = "land"      // a person landed a result
	EventConflict  EventKind = "conflict"  // a grant waits for commits that do not merge, or goes on; or one is sent back
	EventRecount   EventKind = "recount"   // the counts of a goal were made anew from its claims
	EventOverrun   EventKind = "overrun"   // a script without an end was ended on the blackboard
	EventCall      EventKind = "call"      // a call of a model ended
	EventBudget    EventKind = "budget"    // a person raised the budget of a goal, or of a grant
	EventModels    EventKind = "models"    // a person stopped all calls of models, or let them go on
	EventClock     EventKind = "clock"     // the blackboard's clock was set back: entries have later times than their own
	EventSettled   EventKind = "settled"   // the blackboard got its mark, or a person adopted it as it was
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
	Attributes map[string]string `json:"attributes,omitempty"` // further facts about the move
}

// Names of the attributes that readers use.
const (
	AttributeBy             = "by"              // the person who made the move
	AttributeStructuralType = "structural_type" // of Artefact
	AttributeGate           = "gate"            // gateHeld: Artefact waits for approval
	AttributeResult         = "result"          // a second artefact that the move made
	AttributeResultType     = "result_type"     // and its type
	AttributeWaitsFor       = "waits_for"       // from here on the workflow waits for people alone (waitsForPeople), or for its turn to land (waitsForTurn)
	AttributeRule           = "rule"            // of a bid: the entry of an agent's bids in sett.yml that decided
	AttributeLine           = "line"            // of a bid: the line of that entry, as the agent was started with it
	AttributeDecidedBy      = "decided_by"      // a decision that a script took: by which course
	AttributeClient         = "client"          // name and address of a client of the blackboard
	AttributeTrouble        = "trouble"         // of a landing: why a try failed
	AttributeWorkflowStatus = "workflow_status" // with the goal's last work: the status of its end
)

const (
	gateHeld       = "held"
	waitsForPeople = "people"
	waitsForTurn   = "turn"
)

// Ran returns what a grant was run with, of the entry of its start. An entry of an older
// Sett does not tell.
func (e Event) Ran() Ran {
	return Ran{Image: e.Attributes["image"], Program: e.Attributes["program"], Config: e.Attributes["config"], Sett: e.Attributes["sett"],
		Pin: e.Attributes["pin"]}
}

// Asked returns the Question that waits for an answer from this entry on; empty: none.
// An agent asks with its result, the orchestrator with another move.
func (e Event) Asked() (question string) {
	const asked = string(Question)
	switch {
	case e.Attributes[AttributeStructuralType] == asked:
		return e.Artefact
	case e.Attributes[AttributeResultType] == asked:
		return e.Attributes[AttributeResult]
	}
	return ""
}

// Held returns the artefact that waits for approval from this entry on; empty: none.
func (e Event) Held() (artefact string) {
	switch {
	case e.Attributes[AttributeGate] != gateHeld:
		return ""
	case e.Kind == EventLanding, e.Kind == EventConflict: // Artefact is the result, or none
		return e.Attributes[AttributeResult]
	}
	return e.Artefact
}

// Barred says whether from this entry on a goal cannot land until a person acts.
func (e Event) Barred() bool {
	return e.Kind == EventLanding && e.To == string(LandingBarred) && e.Attributes[AttributeTrouble] == ""
}

// Clashed says whether a run ended since the commits to start from do not merge.
func (e Event) Clashed() bool { return e.Kind == EventConflict && e.To == "waits" }

// Withheld says whether from this entry on an agent's bid waits until a person lets its model be asked.
func (e Event) Withheld() bool {
	reason := WithheldKind(e.Reason)
	return e.Kind == EventWait && e.To == "" && (reason == WithheldBudget || reason == WithheldPaused)
}

// WaitsForModel says whether from this entry on an agent's grant waits until a person lets calls of models go on.
func (e Event) WaitsForModel() bool {
	return e.Kind == EventWait && e.To == "" && e.Reason == string(WaitModel)
}

// CallsPerson says whether one more item waits for a person from this entry on.
func (e Event) CallsPerson() bool { return e.Asked() != "" || e.Held() != "" || e.Barred() }

// Tells says whether notify tells people of this entry.
func (e Event) Tells() bool {
	return e.CallsPerson() || e.Withheld() || e.WaitsForModel() || e.GoalEnded() != ""
}

// GoalEnded returns the status with which the goal ended, when this was its last work;
// else empty.
func (e Event) GoalEnded() WorkflowStatus {
	return WorkflowStatus(e.Attributes[AttributeWorkflowStatus])
}

// OnlyPeople says whether from this entry on its workflow waits for people alone.
// An entry of an older Sett does not tell.
func (e Event) OnlyPeople() bool { return e.Attributes[AttributeWaitsFor] == waitsForPeople }

// WaitsForTurn says whether from this entry on its workflow waits for its turn to land alone.
// An entry of an older Sett does not tell.
func (e Event) WaitsForTurn() bool { return e.Attributes[AttributeWaitsFor] == waitsForTurn }

// Beginning is the position before the ledger's first entry.
const Beginning = "0-0"

// PositionAt returns the position in the ledger just before a time.
func PositionAt(t time.Time) string {
	if t.UnixMilli() <= 0 {
		return Beginning
	}
	return strconv.FormatInt(t.UnixMilli()-1, 10) + "-18446744073709551615"
}
