// Package runtime defines the places where Sett runs: a place starts, stops and lists
// units, and reports their ends. A unit is one process of the sett binary in some
// role, in a container or as a process of the host.
//
// The package does no I/O. The places are runtime/process and, with containers,
// runtime/docker. It knows no artefacts and no claims.
package runtime

import (
	"context"
	"io"
	"time"
)

// Labels identify the units that Sett started. Without the instance's label, a unit is
// never listed, stopped or removed.
type Labels map[string]string

// The labels of units. A label that does not apply is absent.
const (
	LabelInstance    = "sett.instance"
	LabelComponent   = "sett.component" // one of the Component constants
	LabelAgent       = "sett.agent"
	LabelRole        = "sett.role"        // the agent's role
	LabelRun         = "sett.run"         // the `sett up` of the unit
	LabelIncarnation = "sett.incarnation" // the holder of the unit's grants
	LabelClaim       = "sett.claim"       // of a worker
	LabelAttempt     = "sett.attempt"     // of a worker's grant
	LabelTree        = "sett.tree"        // the private tree of the unit's tool
	LabelConfig      = "sett.config"      // digest of the unit's configuration
	LabelSett        = "sett.sett"        // the sett that the unit runs, for a part of sett in a container
	LabelPin         = "sett.pin"         // digest of the pinned files that the unit uses
	LabelWorkspace   = "sett.workspace"   // the instance's repository on the host
	LabelStarted     = "sett.started"     // the start of the instance's `sett up`, RFC 3339
)

// The components of an instance.
const (
	ComponentKeeper       = "keeper"
	ComponentBlackboard   = "blackboard"
	ComponentOrchestrator = "orchestrator"
	ComponentAgent        = "agent"
	ComponentWorker       = "worker"
	ComponentNotifier     = "notifier"
	ComponentRepository   = "repository"    // prepares the agents' trees
	ComponentModelGateway = "model-gateway" // has the keys of models, and passes agents' calls on
	ComponentAnchor       = "anchor"        // owns the network namespace of an agent's workers
)

// Match says whether every label of the selector has the same value in l.
func (l Labels) Match(selector Labels) bool {
	for k, v := range selector {
		if l[k] != v {
			return false
		}
	}
	return true
}

// Spec describes a unit to start.
type Spec struct {
	Name   string   // unique within the instance
	Args   []string // the sett binary's arguments; the first names the role
	Env    []string // the whole environment, as NAME=value
	Dir    string   // working directory; empty: the place's default
	Labels Labels

	// Container describes the unit's container. A place without containers ignores it.
	Container Container
}

// Unit is a started unit.
type Unit struct {
	Name      string    `json:"name"`
	ID        string    `json:"id"` // of the container or process
	Labels    Labels    `json:"labels"`
	StartedAt time.Time `json:"started_at"`
	Running   bool      `json:"running"`
	Paused    bool      `json:"paused,omitempty"`  // it runs, but the engine has paused it
	Address   string    `json:"address,omitempty"` // IP address on the instance's network; empty: unknown or none

	// Restarting: it has ended, and the place itself will restart it. Running is false
	// then.
	Restarting bool `json:"restarting,omitempty"`
	// Restarts is how often the place itself has restarted it.
	Restarts int `json:"restarts,omitempty"`
}

// Unwatched is Exit.Text of an end that nobody saw.
const Unwatched = "ended while nobody watched"

// Exit is the end of a unit.
type Exit struct {
	Unit Unit
	Code int    // exit code; -1: a signal ended it, or the code is unknown
	Text string // for people: "exit status 1", "signal: killed", Unwatched
	OOM  bool   // memory ran out, says the engine
	Why  string // for people: why Sett ended it, such as "silent for 30s"; empty: it ended by itself. The place leaves it empty
	Tail string // the last lines it logged
	At   time.Time
}

// Told is the end in words: with the reason of an end that Sett brought about, which needs no
// other witness.
func (e Exit) Told() string {
	switch {
	case e.Why == "":
		return e.Text
	case e.Text == "" || e.Text == Unwatched:
		return e.Why
	}
	return e.Why + ": " + e.Text
}

// Runtime is a place where units run.
type Runtime interface {
	// Start starts the unit and returns once it runs. It adopts a running unit of that
	// name: it returns that unit unchanged and starts nothing.
	Start(ctx context.Context, s Spec) (Unit, error)
	// Stop ends the unit and all its processes: first by a request, after the grace by
	// force. It returns when the unit is gone and no longer listed; its log stays. A
	// missing unit is no error.
	Stop(ctx context.Context, name string, grace time.Duration) error
	// List returns the instance's units that match, sorted by name: running units, and
	// ended ones that were not removed.
	List(ctx context.Context, selector Labels) ([]Unit, error)
	// Exits delivers the end of every unit of the instance once, also of units that other
	// processes started. It closes the channel when the context ends. First come the ends
	// before the call, of units that were not removed.
	Exits(ctx context.Context) (<-chan Exit, error)
}

// LogOptions select from a unit's log.
type LogOptions struct {
	Follow bool      // go on with new lines until the context ends
	Lines  int       // the last n lines only; negative: all
	Since  time.Time // later lines only; zero: all
}

// Logs reads the logs of units.
type Logs interface {
	// Logs returns the unit's output on stdout and stderr, also after its end.
	// fs.ErrNotExist when there never was such a unit.
	Logs(ctx context.Context, name string, o LogOptions) (io.ReadCloser, error)
}
