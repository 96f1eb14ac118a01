package view

import (
	"context"
	"time"

	"sett/blackboard"
	"sett/contract/config"
)

// Board is the blackboard as views read it.
type Board struct {
	Moment
	Artefacts
	Claims
	Index
	Roster
	Landing Landings
	Calls   Spendings
}

// Spendings tells whether models may be asked, and with what a goal's calls were paid for.
type Spendings interface {
	Paused(ctx context.Context) (*blackboard.Pause, error)
	Spending(ctx context.Context, workflow string) (blackboard.Spending, error)
}

// Landings finds the goals that wait to land, in the order of their turns.
type Landings interface {
	OpenLandings(ctx context.Context) ([]string, error)
}

// Moment is the time and state of the instance. Refusal is the server's refusal to take
// writes; nil: it takes them.
type Moment interface {
	ServerTime(ctx context.Context) (time.Time, error)
	Refusal(ctx context.Context) (*blackboard.NoWritesError, error)
	State(ctx context.Context) (blackboard.InstanceState, error)
}

// Artefacts reads artefacts. Slices of errors have one for each id.
type Artefacts interface {
	Artefact(ctx context.Context, id string) (blackboard.Artefact, error)
	TryArtefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, []error, error)
	Outlines(ctx context.Context, ids []string) ([]blackboard.Outline, []error, error)
	OutlinesWithTexts(ctx context.Context, ids []string, most int) ([]blackboard.Outline, []error, error)
	ReadPayloads(ctx context.Context, all []*blackboard.Outline, most int) error
}

// Claims reads claims and workflows.
type Claims interface {
	Workflow(ctx context.Context, id string) (blackboard.Workflow, error)
	TryWorkflows(ctx context.Context, ids []string) ([]blackboard.Workflow, []error, error)
	Snapshot(ctx context.Context, claimID string) (blackboard.Snapshot, error)
	Snapshots(ctx context.Context, ids []string) ([]blackboard.Snapshot, []error, error)
	TryClaims(ctx context.Context, ids []string) ([]blackboard.Claim, []error, error)
}

// Index finds ids.
type Index interface {
	OpenWork(ctx context.Context) (blackboard.Work, error)
	OpenQuestions(ctx context.Context) ([]string, error)
	OpenGates(ctx context.Context) ([]string, error)
	WorkflowClaims(ctx context.Context, workflow string) ([]string, error)
	WorkflowArtefacts(ctx context.Context, workflow string) ([]string, error)
	Children(ctx context.Context, id string) ([]string, error)
}

// Roster tells of the orchestrator, the agents and all that runs.
type Roster interface {
	Leader(ctx context.Context) (blackboard.Leader, error)
	Agents(ctx context.Context) (map[string]blackboard.Presence, error)
	Workers(ctx context.Context, agent string) (map[string]blackboard.Worker, error)
	Running(ctx context.Context) ([]blackboard.Running, error)
}

// Reader makes views of a blackboard.
type Reader struct {
	Board
	Clock   func(time.Time) string                // shows a time of day to people
	Command func(args string) string              // completes a sett command line for the instance
	Config  *config.Config                        // nil: unknown
	Units   func(ctx context.Context) UnitTrouble // looks at the instance's processes or containers
}

// UnitTrouble says why an agent's unit, or the orchestrator's, cannot do its part,
// as "is paused"; empty: it runs. nil: nobody can see the units.
type UnitTrouble func(name string) string

// MaxShown is the size, in bytes, up to which an artefact is read for one line about
// it.
const MaxShown = 64 << 10
