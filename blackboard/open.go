package blackboard

import "time"

// Work is the open work of the orchestrator, oldest first.
type Work struct {
	Unclaimed []string // artefacts without their claim
	Claims    []string // open ones
}

// AgentWork is the open work of an agent, oldest first.
type AgentWork struct {
	Due    []string // claims that await its bid
	Grants []string // claims with a queued or running grant of the agent
}

// Figures are counts of the blackboard's contents at a moment, for operators.
type Figures struct {
	At        time.Time // by the blackboard's clock
	Events    int64     // in the ledger
	Artefacts int64     // ever written
	Claims    int64     // ever opened
	Unclaimed Backlog   // artefacts without their claim
	Open      Backlog   // claims that are open
	Questions Backlog   // without an answer
	Gates     Backlog   // artefacts that wait for approval
	Goals     Backlog   // with work outstanding
	Landings  Backlog   // goals with a result that has not reached its branch
	Agents    map[string]AgentFigures
	Running   []Running
}

// Backlog is a number of open items and the age of the oldest.
type Backlog struct {
	Count  int64
	Oldest time.Time // zero: there is none
}

// AgentFigures are the backlogs of one agent.
type AgentFigures struct {
	Due    Backlog // claims that await its bid
	Grants Backlog // its grants that are queued or running
}

// Filter selects artefacts from the indexes. At most one of Type, Agent and
// Workflow is looked up; the others are compared.
type Filter struct {
	Type, Agent, Workflow string    // Type is a pattern (see Match)
	Since                 time.Time // no older
	Until                 time.Time // no younger; zero: no such limit
	Limit                 int       // the newest so many; 0: all

	// Broken is told of each record that is missing or corrupt, and the record is
	// left out. Without Broken such a record is an error.
	Broken func(error)
}

// Fits reports whether an artefact has the filter's type and agent, and is not too
// young. Workflow, Since and Limit are the reader's part.
func (f Filter) Fits(a Artefact) bool {
	return (f.Type == "" || Match(f.Type, a.Type)) && (f.Agent == "" || a.ProducedByAgent == f.Agent) &&
		(f.Until.IsZero() || !a.CreatedAt.After(f.Until))
}

// Outline is an artefact without its payload, for readers of many artefacts.
type Outline struct {
	Artefact
	PayloadSize int // bytes
}
