package report

import (
	"context"
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/view"
	"sett/roles/view/lineage"
)

// Report is the story of a goal. The names of its fields are part of the interface.
type Report struct {
	Kind      string         `json:"kind"` // report
	Sett      string         `json:"sett"` // the version that wrote it
	Instance  string         `json:"instance"`
	Goal      Goal           `json:"goal"`
	Outcome   *Artefact      `json:"outcome"` // the final result or the Failure; null while the goal is open
	Artefacts []Artefact     `json:"artefacts"`
	Steps     []lineage.Step `json:"steps"`    // a claim each, oldest first
	Graph     *lineage.Graph `json:"graph"`    // of the artefacts
	Timeline  []Stretch      `json:"timeline"` // oldest first
	People    []Deed         `json:"people"`   // words of persons, oldest first
	Commits   []Commit       `json:"commits"`  // that artefacts name, oldest first
	Ran       []Ran          `json:"ran"`      // the images and programs of agents' runs
	Models    []view.Spent   `json:"models"`   // calls of models
	Ledger    []Entry        `json:"ledger"`   // the entries about the goal
	Lacks     []string       `json:"lacks"`    // parts that could not be read, with the reason
}

// Goal is the goal and its state.
type Goal struct {
	ID      string                    `json:"id"`
	Text    string                    `json:"text"`
	Status  blackboard.WorkflowStatus `json:"status"`
	Base    string                    `json:"base,omitempty"`   // the commit that it starts from
	Branch  string                    `json:"branch,omitempty"` // that this commit was on
	Began   time.Time                 `json:"began"`
	Ended   time.Time                 `json:"ended,omitzero"`
	Seconds *float64                  `json:"seconds,omitempty"`
	AsOf    time.Time                 `json:"as_of,omitzero"` // of an open goal: when it was read

	workflow blackboard.Workflow
}

// Artefact is an artefact with the beginning of its payload.
type Artefact struct {
	view.Brief
	SHA256  string     `json:"payload_sha256"` // as the ledger has it
	Excerpt string     `json:"excerpt"`        // how the payload begins; of a Failure the reason and the tool's last lines
	Gate    *view.Gate `json:"gate,omitempty"`
}

// The kinds of stretches.
const (
	WaitsForBids   = "bids"
	Queued         = "queued"
	Runs           = "runs"
	WaitsForAnswer = "question"
	WaitsForGate   = "gate"
)

// Stretch is a part of the goal's time.
type Stretch struct {
	Lane    string    `json:"lane"` // an agent; orchestrator while bids are awaited; people while a person is
	Kind    string    `json:"kind"` // bids, queued, runs, question, gate
	From    time.Time `json:"from"`
	To      time.Time `json:"to"`
	ClaimID string    `json:"claim_id,omitempty"`
	ID      string    `json:"result_id,omitempty"` // the result of the work
	Says    string    `json:"says"`
	Gist    string    `json:"gist,omitempty"` // of the result
	Tone    view.Tone `json:"tone,omitempty"`
	Answers int       `json:"answers,omitempty"` // for a rework: one more than the index of the stretch with the feedback that it heeds
}

// Deed is something that a person did.
type Deed struct {
	Time time.Time            `json:"time"`
	By   string               `json:"by"`
	Kind blackboard.EventKind `json:"kind"`
	Says string               `json:"says"`
	ID   string               `json:"artefact_id,omitempty"`
}

// Commit is a commit that an artefact names.
type Commit struct {
	ArtefactID string    `json:"artefact_id"`
	Hash       string    `json:"hash"`
	Author     string    `json:"author,omitempty"`
	Date       time.Time `json:"date,omitzero"`
	Subject    string    `json:"subject,omitempty"`
	Files      []File    `json:"files"`
	Patch      string    `json:"patch,omitempty"`
	Cut        bool      `json:"patch_cut,omitempty"` // the patch is longer
}

// File is a file that a commit changed.
type File struct {
	Path    string `json:"path"`
	Added   int    `json:"added"` // lines
	Deleted int    `json:"deleted"`
	Binary  bool   `json:"binary,omitempty"`
}

// Ran is a set of image, program and settings that runs of an agent had.
type Ran struct {
	Agent string `json:"agent"`
	blackboard.Ran
	Times int `json:"times"`
}

// Entry is an entry of the ledger.
type Entry struct {
	ID   string               `json:"id"`
	Time time.Time            `json:"time"`
	Kind blackboard.EventKind `json:"kind"`
	By   string               `json:"by"` // the agent, the person or the orchestrator
	Says string               `json:"says"`
	Tone view.Tone            `json:"tone,omitempty"`
}

// Sources is where a report is read from.
type Sources struct {
	Board    view.Board
	Ledger   Ledger
	Sett     string // the version
	Instance string
	Only     []string                                                         // the fields that are wanted; none: all. Those that cost a read of their own stay empty else
	Now      func(ctx context.Context) (time.Time, error)                     // nil: an open goal is as of its last entry
	Commits  func(ctx context.Context, a blackboard.Artefact) (Commit, error) // nil: there is no store at hand
	Spending func(ctx context.Context, goal string) (blackboard.Spending, error)
}

// wants says whether one of some fields is wanted.
func (s *Sources) wants(fields ...string) bool {
	return len(s.Only) == 0 || slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(s.Only, f) })
}

// Ledger reads entries after a position.
type Ledger interface {
	History(ctx context.Context, after string, most int64) ([]blackboard.Event, error)
}
