package notifier

import (
	"time"

	"sett/blackboard"
)

// The kinds of events.
const (
	kindQuestion = "question" // an agent asks, or the orchestrator does
	kindGate     = "gate"     // an artefact waits for approval
	kindLanding  = "landing"  // a result cannot reach its branch until a person acts
	kindBid      = "bid"      // an agent's bid waits until a person lets its model be asked
	kindModel    = "model"    // an agent does not begin until a person lets calls of models go on
	kindWorkflow = "workflow" // a goal's last work is done
)

// event is the command's stdin. The names of the fields are part of the interface.
// Texts are cut to maxText bytes; truncated says so of the text beside it.
type event struct {
	Event         string    `json:"event"`
	Instance      string    `json:"instance"`
	Workspace     string    `json:"workspace"` // its path on the host
	Time          time.Time `json:"time"`
	Position      string    `json:"position"` // in the ledger: it identifies the event when it is told again
	Workflow      workflow  `json:"workflow"`
	Question      *question `json:"question,omitempty"`
	Gate          *gate     `json:"gate,omitempty"`
	Landing       *landing  `json:"landing,omitempty"`
	Bid           *bid      `json:"bid,omitempty"`
	Model         *withheld `json:"model,omitempty"`
	Command       string    `json:"command"`                  // for people to type: answer, approve, land, models resume, or show
	RejectCommand string    `json:"reject_command,omitempty"` // of a gate
}

// workflow is the goal of an event.
type workflow struct {
	ID          string   `json:"id"`
	Goal        string   `json:"goal"`
	Truncated   bool     `json:"truncated,omitempty"`
	Status      string   `json:"status"`
	TookSeconds float64  `json:"took_seconds"` // from the goal to the event
	Failure     *outcome `json:"failure,omitempty"`
	Terminal    *outcome `json:"terminal,omitempty"`
}

// outcome is the artefact that ended a workflow. The text of a Failure is its reason.
type outcome struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Agent     string `json:"agent"` // empty: the orchestrator, or a person
	Summary   string `json:"summary"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
}

// question is a Question to people.
type question struct {
	ID        string   `json:"id"`
	Agent     string   `json:"agent"` // asks; empty: the orchestrator does
	Role      string   `json:"role"`
	Text      string   `json:"text"`
	Truncated bool     `json:"truncated,omitempty"`
	About     *subject `json:"about,omitempty"` // absent: its records cannot be read
	Open      bool     `json:"open"`            // without an answer so far
}

// subject is the artefact of the claim in which a question was asked.
type subject struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// gate is an artefact that waits for approval.
type gate struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Version   int    `json:"version"`
	Agent     string `json:"agent"` // made it; empty: a person did, as with a goal
	Summary   string `json:"summary"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	Open      bool   `json:"open"` // neither approved nor rejected so far
}

// landing is a result that cannot reach its branch.
type landing struct {
	ID     string `json:"id"` // of the result
	Branch string `json:"branch"`
	Reason string `json:"reason"`
	Open   bool   `json:"open"` // it has not landed, and still waits for a person
}

// bid is a bid that waits, since a call of the agent's model is withheld.
type bid struct {
	Claim  string   `json:"claim"`
	Agent  string   `json:"agent"`
	Kind   string   `json:"kind"`            // budget or paused
	Reason string   `json:"reason"`          // as it is now, in plain words; may be empty
	About  *subject `json:"about,omitempty"` // absent: its records cannot be read
	Open   bool     `json:"open"`            // it still waits for that
}

// withheld is a grant that waits, since all calls of models are paused.
type withheld struct {
	Claim  string   `json:"claim"`
	Agent  string   `json:"agent"`
	Reason string   `json:"reason"`          // in plain words; may be empty
	About  *subject `json:"about,omitempty"` // absent: its records cannot be read
	Open   bool     `json:"open"`            // it still waits for that
}

// alert is the part of a ledger entry that people are told of.
type alert struct {
	kind     string
	artefact string                    // the Question, or the artefact that is held
	status   blackboard.WorkflowStatus // of the workflow that ended
}

// alertOf returns an entry's alert, if it has one.
func alertOf(e blackboard.Event) (alert, bool) {
	switch question, held, ended := e.Asked(), e.Held(), e.GoalEnded(); {
	case !e.Tells():
		return alert{}, false
	case ended != "":
		return alert{kind: kindWorkflow, status: ended}, true
	case held != "":
		return alert{kind: kindGate, artefact: held}, true
	case question != "":
		return alert{kind: kindQuestion, artefact: question}, true
	case e.Barred():
		return alert{kind: kindLanding, artefact: e.Artefact}, true
	case e.Withheld():
		return alert{kind: kindBid}, true
	}
	return alert{kind: kindModel}, true
}
