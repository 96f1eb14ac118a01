// Package runtime says what a place must offer for Sett to run there: start a
// unit, stop it, list what runs, and follow what ends. A unit is one process of
// the sett binary in some role, in a container or as a process of the host.
//
// It holds the words only. The places are runtime/process and, with containers,
// runtime/docker. It knows nothing of artefacts or claims.
package runtime

import (
	"context"
	"io"
	"time"
)

// Labels identify what Sett started. Only units that carry the instance's label
// are ever listed, stopped or removed.
type Labels map[string]string

// The labels of every unit. Those that do not apply are absent.
const (
	LabelInstance    = "sett.instance"
	LabelComponent   = "sett.component" // one of the Component constants
	LabelAgent       = "sett.agent"
	LabelRole        = "sett.role"        // the agent's role
	LabelRun         = "sett.run"         // the `sett up` it belongs to
	LabelIncarnation = "sett.incarnation" // the holder of the grants it runs
	LabelClaim       = "sett.claim"       // of a worker
	LabelAttempt     = "sett.attempt"     // of a worker's grant
	LabelConfig      = "sett.config"      // digest of the configuration it was started with
	LabelWorkspace   = "sett.workspace"   // the instance's repository on the host
	LabelStarted     = "sett.started"     // when the instance's `+"`sett up`"+` began, RFC 3339
)

// The components an instance is made of.
const (
	ComponentKeeper       = "keeper"
	ComponentBlackboard   = "blackboard"
	ComponentOrchestrator = "orchestrator"
	ComponentAgent        = "agent"
	ComponentWorker       = "worker"
	ComponentNotifier     = "notifier"
	ComponentAnchor       = "anchor" // owns the network namespace that an agent's workers join
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

	// Container is what the unit needs besides where units are containers. Places
	// where they are processes ignore it.
	Container Container
}

// Unit is something that was started.
type Unit struct {
	Name      string    `json:"name"`
	ID        string    `json:"id"` // the place's own name for it: a container id, a process id
	Labels    Labels    `json:"labels"`
	StartedAt time.Time `json:"started_at"`
	Running   bool      `json:"running"`
	Paused    bool      `json:"paused,omitempty"`  // it runs, but the engine has frozen it
	Address   string    `json:"address,omitempty"` // where it is reached on the instance's network, an IP address; empty: unknown or none

	// Restarting: it has ended, and the place itself is about to start it again.
	// Running is false then.
	Restarting bool `json:"restarting,omitempty"`
	// Restarts is how often the place itself has started it again.
	Restarts int `json:"restarts,omitempty"`
}

// Exit is the end of a unit.
type Exit struct {
	Unit Unit
	Code int    // exit code; -1 when a signal ended it or nobody could learn it
	Text string // for people: "exit status 1", "signal: killed", "ended while nobody watched"
	OOM  bool   // the engine says that memory ran out
	Tail string // the last lines it logged
	At   time.Time
}

// Runtime is a place where units run.
type Runtime interface {
	// Start starts the unit and returns once it runs. A unit of that name that
	// runs already is adopted: it is returned as it is, and nothing is started.
	Start(ctx context.Context, s Spec) (Unit, error)
	// Stop ends the unit and everything it started: a request first, force when
	// the grace is over. It returns when the unit is gone and removed from the
	// list; its log stays. Stopping what does not exist is no error.
	Stop(ctx context.Context, name string, grace time.Duration) error
	// List returns the instance's units that match, running or ended and not yet
	// removed, sorted by name.
	List(ctx context.Context, selector Labels) ([]Unit, error)
	// Exits delivers the end of every unit of the instance, whoever started it,
	// once, until the context ends; then the channel is closed. What had ended
	// before the call and was not yet removed is delivered first.
	Exits(ctx context.Context) (<-chan Exit, error)
}

// LogOptions select from a unit's log.
type LogOptions struct {
	Follow bool      // go on with what is written from now on, until the context ends
	Lines  int       // only the last so many; negative: all
	Since  time.Time // only what was written since; zero: all
}

// Logs is offered by runtimes that keep what their units write.
type Logs interface {
	// Logs returns what the unit of this name wrote on stdout and stderr, also
	// after it ended. ErrNotFound of package io/fs when there never was such a unit.
	Logs(ctx context.Context, name string, o LogOptions) (io.ReadCloser, error)
}
