package notifier

import (
	"time"

	"sett/blackboard"
)

// The kinds of events.
const (
	kindQuestion = "question" // an agent asks, or the orchestrator does
	kindGate     = "gate"     // an artefact waits for approval
	kindWorkflow = "workflow" // a goal's last work is done
)

// event is what the command gets on stdin. The fields' names are part of the
// interface. Texts are cut to maxText bytes; truncated says so of those beside it.
type event struct {
	Event         string    `json:"event"`
	Instance      string    `json:"instance"`
	Workspace     string    `json:"workspace"` // its path on the host
	Time          time.Time `json:"time"`      // when it happened
	Position      string    `json:"position"`  // in the ledger: the same when an event is told again, and no other's
	Workflow      workflow  `json:"workflow"`
	Question      *question `json:"question,omitempty"`
	Gate          *gate     `json:"gate,omitempty"`
	Command       string    `json:"command"`                  // what to type: answer, approve, or look
	RejectCommand string    `json:"reject_command,omitempty"` // of a gate
}

// workflow is the goal that it is about.
type workflow struct {
	ID          string   `json:"id"`
	Goal        string   `json:"goal"`
	Truncated   bool     `json:"truncated,omitempty"`
	Status      string   `json:"status"`
	TookSeconds float64  `json:"took_seconds"` // from the goal to the event
	Failure     *outcome `json:"failure,omitempty"`
	Terminal    *outcome `json:"terminal,omitempty"`
}

// outcome is the artefact that a workflow ended with. Of a Failure the text is its
// reason.
type outcome struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Agent     string `json:"agent"` // empty: the orchestrator, or a person
	Summary   string `json:"summary"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
}

// question is what somebody has to be told.
type question struct {
	ID        string   `json:"id"`
	Agent     string   `json:"agent"` // who asks; empty: the orchestrator
	Role      string   `json:"role"`
	Text      string   `json:"text"`
	Truncated bool     `json:"truncated,omitempty"`
	About     *subject `json:"about,omitempty"` // absent: its records cannot be read
	Open      bool     `json:"open"`            // nobody has answered it so far
}

// subject is the artefact whose claim a question was asked in.
type subject struct {
	ID      string `json:"id"`
	Type    string `json:"type"`
	Version int    `json:"version"`
}

// gate is the artefact that is held.
type gate struct {
	ID        string `json:"id"`
	Type      string `json:"type"`
	Version   int    `json:"version"`
	Agent     string `json:"agent"` // who made it; empty: a person, as with a goal
	Summary   string `json:"summary"`
	Text      string `json:"text"`
	Truncated bool   `json:"truncated,omitempty"`
	Open      bool   `json:"open"` // nobody has approved or rejected it so far
}

// matter is what an entry of the ledger is to people.
type matter struct {
	kind     string
	artefact string                    // the Question, or what is held
	status   blackboard.WorkflowStatus // of the workflow that ended
}

// matterOf says whether the entry is one that people are told of.
func matterOf(e blackboard.Event) (matter, bool) {
	switch question, held, ended := e.Asked(), e.Held(), e.GoalEnded(); {
	case ended != "":
		return matter{kind: kindWorkflow, status: ended}, true
	case held != "":
		return matter{kind: kindGate, artefact: held}, true
	case question != "":
		return matter{kind: kindQuestion, artefact: question}, true
	}
	return matter{}, false
}
