package cub

import (
	"context"
	"time"

	"sett/blackboard"
	"sett/roles/cub/assemble"
)

// board is an agent's part of the blackboard: all that a cub reads and writes.
type board struct {
	presence   presence
	work       workMoves
	records    records
	submitBids func(ctx context.Context, bids []blackboard.BidRequest) (each []error, err error)
	openWork   func(ctx context.Context, agent string) (blackboard.AgentWork, error)
	assignment func(ctx context.Context, agent, incarnation string) (claim string, err error)
	ping       func(ctx context.Context) error

	// spending reads the account of a goal, calls those of models under way, and paused whether a person stopped all.
	spending func(ctx context.Context, workflow string) (blackboard.Spending, error)
	calls    func(ctx context.Context) ([]blackboard.PendingCall, error)
	paused   func(ctx context.Context) (*blackboard.Pause, error)

	// withhold records that a bid waits for a call of the model, and says why; an empty kind: no longer.
	withhold func(ctx context.Context, claim, agent string, kind blackboard.WithheldKind, why string) error

	// raiseBudget adds to a budget, as a person's Answer says, which counts once.
	raiseBudget func(ctx context.Context, r blackboard.Raise) error

	// listen calls ready at each (re)connection, notice for each message and lost at
	// each loss of the blackboard, until the context ends.
	listen func(ctx context.Context, topics []topic, ready func(), notice func(t topic, id string), lost func(error)) error
}

// presence registers an agent or a worker.
type presence interface {
	Hello(ctx context.Context, agent string, p blackboard.Presence, ttl time.Duration) error
	HelloWorker(ctx context.Context, agent string, w blackboard.Worker, aliveFor time.Duration) error
	Beat(ctx context.Context, agent, incarnation string, ttl time.Duration) error
	Goodbye(ctx context.Context, agent, incarnation, reason string) error
}

// workMoves are the moves of a grant, from its start to its result.
type workMoves interface {
	Start(ctx context.Context, q blackboard.StartRequest) (blackboard.Started, error)
	Await(ctx context.Context, q blackboard.GrantRef, what blackboard.WaitKind, why string) error
	Finish(ctx context.Context, q blackboard.Result) error
	FinishAndStart(ctx context.Context, done blackboard.Result, next blackboard.StartRequest) (blackboard.Started, error, error)
	Requeue(ctx context.Context, q blackboard.HandBack) error
	Clash(ctx context.Context, q blackboard.Clash) error
}

// records reads artefacts, claims and grants.
type records interface {
	assemble.Reader
	Artefact(ctx context.Context, id string) (blackboard.Artefact, error)
	TryClaims(ctx context.Context, ids []string) ([]blackboard.Claim, []error, error)
	Grant(ctx context.Context, claim, agent string) (blackboard.Grant, error)
}

// topic is a kind of notice.
type topic int

// The topics. Each notice names a claim.
const (
	grantTopic      topic = iota // a grant of this agent was queued, or ended by others
	assignmentTopic              // a worker of this agent was assigned its claim; see blackboard.ParseAssignment
	targetTopic                  // a claim wants bids; see blackboard.ParseTarget
)
