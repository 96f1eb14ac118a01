package blackboard

import (
	"strings"
	"time"
)

// Lead is the right to decide, until its lease runs out unrenewed.
type Lead struct {
	Holder string
	Epoch  string // a number and the holder; no two leads have the same
}

// Number returns the number in the epoch. A later lead has a greater one.
func (l Lead) Number() string {
	number, _, _ := strings.Cut(l.Epoch, " ")
	return number
}

// Leader is the orchestrator that leads, or led last.
type Leader struct {
	Holder string    // empty: nobody leads, or the lead was given up
	Until  time.Time // the end of the lease unless it is renewed; compare with the blackboard's clock
}

// Presence describes an agent's incarnation in the registry.
type Presence struct {
	Incarnation string `json:"incarnation"`
	Mode        string `json:"mode"`
	Version     string `json:"version"`
	PID         int    `json:"pid"`
	Health      string `json:"health"`            // address of /healthz and /metrics, host:port
	Run         string `json:"run"`               // the `sett up` it belongs to
	Config      string `json:"config"`            // digest of the configuration it was started with
	Since       string `json:"since"`             // RFC 3339
	Trouble     string `json:"trouble,omitempty"` // the reason that its newest bid could not be evaluated, or that it is unfit
	Unfit       bool   `json:"unfit,omitempty"`   // its program cannot be run where it is

	Agent string    `json:"-"`
	Alive time.Time `json:"-"` // until when; zero: it left
}

// MostPromised is more than any heartbeat promises ahead. A later stamp is by a clock that
// was set back since, and tells nothing: the next heartbeat, seconds later, tells again.
const MostPromised = 5 * time.Minute

// Lives says whether a heartbeat that was to hold until alive holds at a moment of the
// same clock, the blackboard's.
func Lives(alive, now time.Time) bool { return alive.After(now) && alive.Sub(now) <= MostPromised }

// Worker is a process that works on one claim of its agent and then ends. It was
// started for that claim, or started warm and waits for its assignment.
type Worker struct {
	Incarnation string    // by which it holds its grant
	Claim       string    // that it has; empty: it waits
	Attempt     int       // of the claim's grant, as it was when the worker got it; 0: unknown
	Alive       time.Time // until when; compare with the blackboard's clock
}

// InstanceState says whether an instance takes work.
type InstanceState string

// The states of an instance.
const (
	InstanceRunning  InstanceState = "running"
	InstanceStopping InstanceState = "stopping"
)

// Running is a grant that a holder runs.
type Running struct {
	Claim, Agent string
	Holder       string
	Attempt      int
	Since        time.Time
	WaitsSince   time.Time // for the repository or the blackboard; zero: it does not wait
}
