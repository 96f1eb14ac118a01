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

// WaitsForTurn says whether the workflow waits for its turn to land alone: the landing is all
// its work outstanding, and no person has to free the branch.
func (w Workflow) WaitsForTurn() bool {
	return !w.Status.Ended() && w.Outstanding == 1 && w.Landing != nil && (w.Landing.State == LandingQueued || w.Landing.State == LandingVerifying)
}

// Passes says whether the workflow lets the ones behind it in the queue land before it: only
// a person can free its branch, or a try failed and is repeated later.
func (w Workflow) Passes() bool {
	return w.Landing == nil || w.Landing.People || w.Landing.Trouble != ""
}

// Ahead returns the workflow that has to land before this one, where only people take
// that one on: then this one waits for people, too. The queue has the open landings in the
// order of their turns, and may be cut anywhere.
func (w Workflow) Ahead(queue []Workflow) (ahead Workflow, ok bool) {
	for _, q := range queue {
		switch {
		case q.ID == w.ID:
			return Workflow{}, false
		case !q.Passes():
			return q, w.WaitsForTurn() && q.OnlyPeople()
		}
	}
	return Workflow{}, false
}

// HasRetried says whether a Failure that belongs to no claim was tried again.
func (w Workflow) HasRetried(failure string) bool {
	return slices.Contains(strings.Fields(w.Retried), failure)
}

// CanRetryEnd says whether a goal can go on after a Failure of a type that belongs to no claim.
func CanRetryEnd(failure string) bool {
	return slices.Contains([]string{TypeReviewLimit, TypeAgentRemoved, TypeWorkflowLimit}, failure)
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
	Suspended   int            `json:"-"`                 // of Outstanding: artefacts that wait for approval, and claims that only a person takes on
	Blocked     int            `json:"-"`                 // of Outstanding: claims that wait for a Conflict alone
	Landing     *Landing       `json:"landing,omitempty"` // of its result; nil: it has none
	TerminalID  string         `json:"terminal_id,omitempty"`
	FailureID   string         `json:"failure_id,omitempty"`
	Retried     string         `json:"-"`            // ids, with spaces between, of Failures of no claim that were tried again
	By          string         `json:"by,omitempty"` // the person that posted it; empty: an older sett did not say
	CreatedAt   time.Time      `json:"created_at"`
	EndedAt     time.Time      `json:"ended_at,omitzero"`
}
