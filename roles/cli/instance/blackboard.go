package instance

import (
	"context"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis"
	"sett/blackboard/redis/archive"
	"sett/roles/cli/term"
	"sett/roles/view"
)

// Board is the blackboard of an instance, in parts for its users. Commands know these
// parts and not their implementation.
type Board struct {
	server
	place
	Records Records
	Index   Index
	Ledger  ledger
	Roster  view.Roster
	People  People
	Calls   calls
	Control Control
	Archive archive.Board // for a wiring file: the source or target of an archive

	// Watch reports each interruption of the connection, and each return, until the
	// context ends.
	Watch func(ctx context.Context, back func(), lost func(error))
}

// server is the server of the blackboard and its view of the instance.
type server interface {
	view.Moment
	Figures(ctx context.Context, agents []string) (blackboard.Figures, error)
	Close()
}

// place is the address of the server, which board it has, how safe data is there, and the rights of its user.
type place interface {
	Addr() string
	Look(ctx context.Context) (blackboard.Mark, error)
	Durability(ctx context.Context) (redis.Durability, error)
	Rights(ctx context.Context) (*blackboard.RightsError, error)
	Foreign(ctx context.Context) *blackboard.KeyTypeError
}

// Records reads artefacts, claims and workflows by id.
type Records struct {
	artefacts
	claims
	records
}

type (
	artefacts = view.Artefacts
	claims    = view.Claims
)

type records interface {
	Artefacts(ctx context.Context, ids []string) ([]blackboard.Artefact, error)
	Claims(ctx context.Context, ids []string) ([]blackboard.Claim, error)
	ListArtefacts(ctx context.Context, f blackboard.Filter) ([]blackboard.Artefact, error)
	ListOutlines(ctx context.Context, f blackboard.Filter) ([]blackboard.Outline, error)
	LatestVersions(ctx context.Context, logicalIDs []string) (map[string]string, error)
}

// Index finds the ids of records.
type Index struct {
	view.Index
	view.Landings
	index
}

type index interface {
	Goals(ctx context.Context, limit int) ([]string, error)
	Resolve(ctx context.Context, part string, want ...blackboard.Kind) (string, blackboard.Kind, error)
	OpenClaims(ctx context.Context) ([]string, error)
	ActiveWorkflows(ctx context.Context) ([]string, error)
	ActiveCount(ctx context.Context) (int, error)
	Versions(ctx context.Context, logicalID string) ([]string, error)
}

// ledger reads the entries of the ledger.
type ledger interface {
	Last(ctx context.Context) (string, error)
	Removed(ctx context.Context) (*blackboard.RemovedError, error)
	History(ctx context.Context, after string, count int64) ([]blackboard.Event, error)
	Follow(ctx context.Context, after string, f func(blackboard.Event) error, lost func(error)) error
	Notifier(ctx context.Context) (blackboard.Notifier, error)
	Notified(ctx context.Context) (position string, err error)
}

// People makes the moves of people.
type People struct {
	statements
	decisions
	spenders
	landers
}

// landers record what people do with results.
type landers interface {
	NoteLanded(ctx context.Context, l blackboard.LandedByHand, by string) error
}

// spenders bound the cost of calls of models.
type spenders interface {
	PauseModels(ctx context.Context, paused bool, by, why string) error
	RaiseBudget(ctx context.Context, r blackboard.Raise) error
}

// calls reads the accounts of models' calls.
type calls interface {
	Spending(ctx context.Context, workflow string) (blackboard.Spending, error)
	Sums(ctx context.Context) ([]blackboard.Spent, error)
	Paused(ctx context.Context) (*blackboard.Pause, error)
}

type statements interface {
	PostGoal(ctx context.Context, a blackboard.Artefact, by string) error
	PostAnswer(ctx context.Context, questionID string, a blackboard.Artefact, by string) (agent string, err error)
	Review(ctx context.Context, claimID string, review blackboard.Artefact, by string) error
}

type decisions interface {
	Approve(ctx context.Context, artefactID string, review blackboard.Artefact, by string) error
	Reject(ctx context.Context, artefactID string, review blackboard.Artefact, by string) (claimID string, err error)
	CancelClaim(ctx context.Context, claimID string, failure blackboard.Artefact, by, why string) error
	CancelWorkflow(ctx context.Context, workflowID string, failure blackboard.Artefact, by, why string) error
	Retry(ctx context.Context, claimID, newClaimID, by, why string) error
	RetryGoal(ctx context.Context, q blackboard.GoalRetry, by, why string) error
}

// Control tells the orchestrator and the server of a start or a stop, and converts records of before.
type Control struct {
	control
	conversion
	ownership
	restarting
	handingBack
}

// handingBack queues the grant of a cub again that was stopped and could not do so itself.
type handingBack interface {
	Requeue(ctx context.Context, q blackboard.HandBack) error
}

// restarting records that a person restarts a part.
type restarting interface {
	Restart(ctx context.Context, id, part, agent, by string) error
}

// ownership is the workspace to which a board belongs.
type ownership interface {
	Owner(ctx context.Context) (blackboard.Owner, error)
	Own(ctx context.Context, o blackboard.Owner, from, mark string) error
}

// conversion brings records of an older sett into the form of this one.
type conversion interface {
	Older(ctx context.Context) (bool, error)
	Convert(ctx context.Context) (redis.Converted, error)
}

// control tells the orchestrator and the server of a start or a stop.
type control interface {
	SetInstance(ctx context.Context, m blackboard.InstanceMove) error
	Enacted(ctx context.Context, approve []string, branch, settings string) (bool, error)
	Nudge(ctx context.Context) error
	ReloadACL(ctx context.Context) error
	Erase(ctx context.Context) (int, error)
	Settle(ctx context.Context, mark string, adopt bool, by string) (blackboard.Mark, error)
}

// Connection says how to connect to a blackboard.
type Connection struct {
	URL, Instance string
	As            string          // the name of the connection on the server
	Timeout       time.Duration   // of one call; 0: the client's default
	Once          bool            // a call is not repeated
	Mark          blackboard.Mark // of the board, as it was seen before; Look compares
	CAFile        string          // certificates that alone are trusted for rediss://, PEM; empty: those of known authorities
	Find          func() string   // where the server is now, HOST:PORT; nil, or empty: where the URL says
	Convert       bool            // a board of an older schema, too, which has to be converted before it is used
}

// Connect opens a blackboard. The error wraps blackboard.ErrUnavailable if it does not
// answer. The caller calls Close.
func Connect(ctx context.Context, c Connection) (*Board, error) {
	o := redis.Options{URL: c.URL, Instance: c.Instance, Name: c.As, Timeout: c.Timeout, CAFile: c.CAFile, Mark: c.Mark, Find: c.Find, Convert: c.Convert}
	if c.Once {
		o.Retries = -1
	}
	b, err := redis.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return BoardOf(b), nil
}

// Glance connects to a blackboard for a short look: calls take at most
// a second and are not repeated.
func Glance(ctx context.Context, c Connection) (*Board, error) {
	c.Timeout, c.Once = time.Second, true
	return Connect(ctx, c)
}

// Glance is the function of that name, for the instance's own blackboard.
func (in *Instance) Glance(ctx context.Context, on *term.Terminal, as string) (*Board, error) {
	return Glance(ctx, To(on, in, as))
}

// BoardOf returns the parts of an open blackboard.
func BoardOf(b *redis.Board) *Board {
	return &Board{
		server: b, place: b, Records: Records{b.Records, b.Records, b.Records}, Index: Index{b.Index, b.Index, b.Index}, Ledger: b.Ledger,
		Roster: b.Roster, People: People{b.People, b.People, b.People, b.People}, Calls: b.Calls, Control: Control{b, b, b, b, b.Cub}, Archive: b,
		Watch: func(ctx context.Context, back func(), lost func(error)) {
			_ = b.Subscribe(ctx, []redis.Channel{redis.OrchestratorEvents}, back, func(redis.Channel, string) {}, lost)
		},
	}
}

// RefusesLogin says that a server answered, and takes neither the user nor the password.
func RefusesLogin(err error) bool { return redis.RefusesLogin(err) }

// Redact returns the URL of a blackboard without its password.
func Redact(url string) string { return redis.Redact(url) }
