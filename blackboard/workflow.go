package blackboard

import (
	"slices"
	"strings"
	"time"
)

// WorkflowStatus is a goal's progress.
type WorkflowStatus string

// The statuses. Only Active is not an end, and a retry makes an ended workflow
// active again.
const (
	WorkflowActive   WorkflowStatus = "active"
	WorkflowAchieved WorkflowStatus = "achieved" // a Terminal, and nothing failed
	WorkflowFailed   WorkflowStatus = "failed"   // a Failure that was not retried
	WorkflowStalled  WorkflowStatus = "stalled"  // no agent bid on the last artefact
)

// Ended says whether no work is outstanding.
func (s WorkflowStatus) Ended() bool { return s != WorkflowActive && s != "" }

// OnlyPeople says whether the workflow waits for people alone: all its work
// outstanding is held by gates or suspended by Questions. A landing that is being verified
// waits for the rest, and so do claims whose commits conflict. A leader or an import has counted Suspended before.
func (w Workflow) OnlyPeople() bool {
	outstanding := w.Outstanding - w.Blocked
	if w.Landing != nil && w.Landing.State == LandingVerifying {
		outstanding--
	}
	return !w.Status.Ended() && outstanding > 0 && w.Suspended == outstanding
}

// HasRetried says whether a Failure that belongs to no claim was tried again.
func (w Workflow) HasRetried(failure string) bool {
	return slices.Contains(strings.Fields(w.Retried), failure)
}

// GoalRetry is a retry of a Failure that belongs to no claim.
type GoalRetry struct {
	Workflow, Failure string
	Type              string // of the Failure
	Word              string // names the retry
	MaxArtefacts      int    // of the goal, that count; 0: any number
}

// Workflow is the account of everything that grows from one goal. Its ID is the
// goal's.
type Workflow struct {
	ID          string         `json:"id"`
	Status      WorkflowStatus `json:"status"`
	Outstanding int            `json:"outstanding"` // artefacts without their claim or approval, open claims, and its landing while that is open
	Artefacts   int            `json:"artefacts"`
	Claims      int            `json:"claims"`
	Failures    int            `json:"failures"`          // not retried
	Terminals   int            `json:"terminals"`         //
	Questions   int            `json:"questions"`         // open ones
	Gates       int            `json:"gates"`             // artefacts that wait for a person's approval
	Suspended   int            `json:"-"`                 // of Outstanding: artefacts that wait for approval, and claims that only an Answer takes on
	Blocked     int            `json:"-"`                 // of Outstanding: claims that wait for a Conflict alone
	Landing     *Landing       `json:"landing,omitempty"` // of its result; nil: it has none
	TerminalID  string         `json:"terminal_id,omitempty"`
	FailureID   string         `json:"failure_id,omitempty"`
	Retried     string         `json:"-"` // ids, with spaces between, of Failures of no claim that were tried again
	CreatedAt   time.Time      `json:"created_at"`
	EndedAt     time.Time      `json:"ended_at,omitzero"`
}
