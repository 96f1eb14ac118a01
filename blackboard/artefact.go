package blackboard

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// StructuralType is the part an artefact plays in the orchestration. It is the
// only thing about an artefact's content that the orchestrator understands.
type StructuralType string

// The six structural types of the specification (sett-system.md, Artefacts).
const (
	Standard StructuralType = "Standard"
	Review   StructuralType = "Review"
	Question StructuralType = "Question"
	Answer   StructuralType = "Answer"
	Failure  StructuralType = "Failure"
	Terminal StructuralType = "Terminal"
)

// StructuralTypes lists all structural types.
var StructuralTypes = []StructuralType{Standard, Review, Question, Answer, Failure, Terminal}

// Valid says whether t is one of the six.
func (t StructuralType) Valid() bool {
	for _, s := range StructuralTypes {
		if t == s {
			return true
		}
	}
	return false
}

// Claimable says whether artefacts of this structural type get a claim.
func (t StructuralType) Claimable() bool { return t == Standard }

// Artefact types that Sett itself writes or treats specially.
const (
	TypeGoalDefined          = "GoalDefined" // a user's goal; only the CLI makes it
	TypeCodeCommit           = "CodeCommit"  // payload is a git commit that exists
	TypeToolExecutionFailure = "ToolExecutionFailure"
	TypeAgentCrashed         = "AgentCrashed"
	TypeContractViolation    = "ContractViolation"
	TypeReviewLimit          = "ReviewLimit"
	TypeWorkflowLimit        = "WorkflowLimit"
	TypeAgentRemoved         = "AgentRemoved"
	TypeCancelled            = "Cancelled"       // by a person
	TypeQuestionTimeout      = "QuestionTimeout" // no answer came in time
	TypeMissingCommit        = "MissingCommit"   // the commit that a tree starts from is not in the store
	TypeNothingChanged       = "NothingChanged"  // a tool whose changes are its result made none
	TypeBudgetExceeded       = "BudgetExceeded"  // no budget for a model's call; also of the Question for more
)

// Roles that agents may not take.
const (
	RoleUser         = "user"
	RoleHuman        = "human"
	RoleOrchestrator = "orchestrator"

	// RoleRepository is that of artefacts that no agent made and that are about commits. An agent
	// may call its role so, too: its artefacts name it besides.
	RoleRepository = "repository"
)

// ReservedRole says whether role is one that no agent may have.
func ReservedRole(role string) bool {
	return role == RoleUser || role == RoleHuman || role == RoleOrchestrator
}

// Artefact is the immutable unit of work and of record: none of its fields ever changes
// once it is stored. Tools read its JSON form on stdin.
type Artefact struct {
	ID              string          `json:"id"`
	LogicalID       string          `json:"logical_id"` // of its thread; the ID of its first version
	Version         int             `json:"version"`    // 1, 2, …, within the thread
	StructuralType  StructuralType  `json:"structural_type"`
	Type            string          `json:"type"` // opaque to the orchestrator
	Payload         string          `json:"payload"`
	SourceArtefacts []string        `json:"source_artefacts"` // never null in JSON
	ProducedByRole  string          `json:"produced_by_role"`
	ProducedByAgent string          `json:"produced_by_agent"`
	ClaimID         string          `json:"claim_id"`    // the claim it is a result of; empty for goals
	WorkflowID      string          `json:"workflow_id"` // the id of its goal
	Summary         string          `json:"summary"`
	Metadata        json.RawMessage `json:"metadata"` // a JSON object, {} when there is none
	CreatedAt       time.Time       `json:"created_at"`
	Commit          string          `json:"commit,omitempty"` // the whole hash of the git commit that it is, or is about; see CommitHash

	Altered bool `json:"-"` // it differs from its entry in the ledger, as far as the reader compared it
}

// NamesCommit says whether the artefact names a commit.
func (a Artefact) NamesCommit() bool {
	return a.Commit != "" || (a.StructuralType == Standard || a.StructuralType == Terminal) && a.Type == TypeCodeCommit
}

// CommitHash returns the hash of the commit that the artefact names; empty: none. An
// older Sett stored that of a CodeCommit in its payload alone.
func (a Artefact) CommitHash() string {
	if a.Commit == "" && a.NamesCommit() {
		return string(bytes.TrimSpace([]byte(a.Payload)))
	}
	return a.Commit
}

// Base is the commit that a goal starts from, in the goal's metadata.
type Base struct {
	Commit string `json:"base"`             // whole; empty: the goal is of an older Sett
	Branch string `json:"branch,omitempty"` // that it was on; empty: none
}

// Base returns the commit that a goal starts from.
func (a Artefact) Base() (b Base) {
	if a.Type == TypeGoalDefined {
		_ = json.Unmarshal(a.Metadata, &b) // a goal of another make has none
	}
	return b
}

// MarshalJSON writes the specification's form: no nulls, the time in UTC.
func (a Artefact) MarshalJSON() ([]byte, error) {
	type plain Artefact
	p := plain(a)
	if p.SourceArtefacts == nil {
		p.SourceArtefacts = []string{}
	}
	if len(p.Metadata) == 0 {
		p.Metadata = json.RawMessage("{}")
	}
	p.CreatedAt = p.CreatedAt.UTC()
	return json.Marshal(p)
}

// Verdict is a Review's decision about the artefact under review.
type Verdict string

// The two verdicts.
const (
	Approve  Verdict = "approve"
	Feedback Verdict = "feedback"
)

// VerdictOf reads a Review's payload as the specification does: exactly {} or [],
// white space around it aside, approves. Everything else is feedback, malformed
// JSON and plain text included. ({ } with white space inside is feedback too.)
func VerdictOf(payload string) Verdict {
	switch string(bytes.TrimSpace([]byte(payload))) {
	case "{}", "[]":
		return Approve
	}
	return Feedback
}

// Target are the facts about the artefact on which a claim on it depends.
func (a Artefact) Target() Target {
	return Target{LogicalID: a.LogicalID, Version: a.Version, Type: a.Type, Agent: a.ProducedByAgent, Role: a.ProducedByRole}
}

// FailureReport is the payload of a Failure artefact, as JSON.
type FailureReport struct {
	Reason     string `json:"reason"`              // one line for people
	ExitCode   int    `json:"exit_code"`           // -1 when there was none
	Signal     string `json:"signal,omitempty"`    // the signal that ended the tool
	TimedOut   bool   `json:"timed_out,omitempty"` // by the agent's timeout
	Stdout     string `json:"stdout"`              // at most MaxCapture bytes: of more the beginning and the end
	Stderr     string `json:"stderr"`              // the same
	StdoutSize int64  `json:"stdout_size"`         // bytes the tool wrote, kept or not
	StderrSize int64  `json:"stderr_size"`
	Log        string `json:"log,omitempty"` // of a cub that died: its last words about this work, and about itself
	Agent      string `json:"agent,omitempty"`
	Attempt    int    `json:"attempt,omitempty"`
	Leftovers  string `json:"leftovers,omitempty"` // the commit of the changes that the tool left in its tree

	Beside  []string `json:"beside,omitempty"`   // commits of the tool that HEAD did not reach, with their names, kept with the leftovers
	LeftOut []string `json:"left_out,omitempty"` // changes that are not kept, each with the reason
	NotKept string   `json:"not_kept,omitempty"` // why no change is kept

	Budget *Exceeded `json:"budget,omitempty"` // that had no room for a call of a model
}

// Left tells which changes of the tool are kept, and which are not; empty: it left none.
func (r FailureReport) Left() string {
	var told []string
	if r.Leftovers != "" {
		told = append(told, fmt.Sprintf("its changes are kept: %.12s", r.Leftovers))
	}
	if len(r.Beside) > 0 {
		told = append(told, "also kept: "+some(r.Beside))
	}
	if lost := r.Lost(); lost != "" {
		told = append(told, lost)
	}
	return strings.Join(told, "; ")
}

// Lost tells which changes of the tool are not kept; empty: all are.
func (r FailureReport) Lost() string {
	var told []string
	if len(r.LeftOut) > 0 {
		told = append(told, "not kept: "+some(r.LeftOut))
	}
	if r.NotKept != "" {
		told = append(told, "its changes are not kept: "+r.NotKept)
	}
	return strings.Join(told, "; ")
}

// some names the first things of a list.
func some(all []string) string {
	const most = 5
	if more := len(all) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:most], ", "), more)
	}
	return strings.Join(all, ", ")
}

// MaxCapture is the part of a tool's stdout and of its stderr that is stored, in bytes
// each.
const MaxCapture = 10 << 20
