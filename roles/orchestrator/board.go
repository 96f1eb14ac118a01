package orchestrator

import (
	"context"
	"time"

	"sett/blackboard"
)

// board is the part of the blackboard that a leader uses.
type board struct {
	lead
	records
	decisions
	landings
	conflicts
	coursesPut
	recorded   recorded
	openWork   func(ctx context.Context) (blackboard.Work, error)
	serverTime func(ctx context.Context) (time.Time, error)
}

// lead is the right to decide, and its use beyond single claims.
type lead interface {
	TakeLead(ctx context.Context, holder, seat string, lease time.Duration) (lead blackboard.Lead, wait time.Duration, err error)
	RenewLead(ctx context.Context, l blackboard.Lead, lease time.Duration) error
	NoteOverrun(ctx context.Context, epoch, id string, o blackboard.Overrun) error
	Enact(ctx context.Context, epoch string, approve []string, settings string) error
	FailGrant(ctx context.Context, epoch string, q blackboard.GrantRef, reason string, failure blackboard.Artefact) error
	RetryGrant(ctx context.Context, epoch string, q blackboard.GrantRef, reason string) error
}

// landings are the moves and the reads about results that reach a branch by themselves.
type landings interface {
	SetLanding(ctx context.Context, epoch, branch string) error
	Land(ctx context.Context, s blackboard.LandingStep) error
	OpenLandings(ctx context.Context) ([]string, error)
	Workflow(ctx context.Context, id string) (blackboard.Workflow, error)
	WorkflowArtefacts(ctx context.Context, workflow string) ([]string, error)
	Outlines(ctx context.Context, ids []string) ([]blackboard.Outline, []error, error)
}

// records are the facts for decisions.
type records interface {
	Snapshot(ctx context.Context, claim string) (blackboard.Snapshot, error)
	Grant(ctx context.Context, claim, agent string) (blackboard.Grant, error)
	Artefact(ctx context.Context, id string) (blackboard.Artefact, error)
	LatestVersions(ctx context.Context, logicalIDs []string) (map[string]string, error)
}

// recorded compares an artefact with the entry of the ledger that stored it. The error is an ErrCorrupt where it differs.
type recorded func(ctx context.Context, a blackboard.Artefact) error

// conflicts are the moves about commits that do not merge.
type conflicts interface {
	Unclash(ctx context.Context, q blackboard.Unclash) error
	ReworkConflict(ctx context.Context, q blackboard.ConflictRework) error
}

// coursesPut are decisions that are known beforehand.
type coursesPut interface {
	PutOpeningCourse(ctx context.Context, epoch, settings string, c blackboard.OpeningCourse) (cleared bool, err error)
	PutBidsCourse(ctx context.Context, epoch, settings string, c blackboard.BidsCourse) (cleared bool, err error)
}

// decisions are the moves that apply a decision about a claim.
type decisions interface {
	OpenClaim(ctx context.Context, epoch, artefact string, bidders []string, maxArtefacts int) (blackboard.Opening, *blackboard.Claim, error)
	RefuseClaim(ctx context.Context, epoch, artefact, reason string, failure blackboard.Artefact) error
	RecordIgnores(ctx context.Context, g blackboard.Guard, agents []string, reason string) error
	GrantPhase(ctx context.Context, g blackboard.Guard, phase blackboard.Phase, agents []string) error
	CompleteClaim(ctx context.Context, g blackboard.Guard, reason string) error
	TerminateClaim(ctx context.Context, g blackboard.Guard, reason string, failure *blackboard.Artefact, rework *blackboard.Rework) error
}
