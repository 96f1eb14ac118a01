package blackboard

import (
	"strconv"
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

// InstanceEnded is the state before a start (Event.From) where the instance ended with no stop in the ledger: after a crash, a
// reboot, or a sett down that could not write.
const InstanceEnded InstanceState = "ended"

// InstanceMove is a start or a stop of an instance, or a change of the settings of one that runs.
type InstanceMove struct {
	State    InstanceState
	By       string    // the person
	With     string    // the command: sett up
	Run      string    // id of the start since which the instance runs; empty: unknown, or a stop
	Anew     bool      // this command started it
	Settings *Settings // that are in force from now on; nil: they stay
}

// Settings are the settings of a sett.yml as the ledger has them: their names, and no values.
type Settings struct {
	Digest  string   // of all, with their values
	Changed []string // dotted names of those that are not as before: budget.calls; at the first start none
	Sett    string   // the build that reads them
	Commit  string   // HEAD of the repository; empty: it has none
	Approve []string // the types that wait for approval, with '*' for any characters
	Branch  string   // that achieved goals land on; empty: none
}

// maxChanged is the number of names of changed settings that the ledger has.
const maxChanged = 20

// ChangedText returns the names of the changed settings as the ledger has them, with blanks between them. Behind the first
// twenty is the number of the others: +7.
func (s Settings) ChangedText() string {
	if more := len(s.Changed) - maxChanged; more > 0 {
		return strings.Join(s.Changed[:maxChanged], " ") + " +" + strconv.Itoa(more)
	}
	return strings.Join(s.Changed, " ")
}

// Running is a grant that a holder runs.
type Running struct {
	Claim, Agent string
	Holder       string
	Attempt      int
	Since        time.Time
	WaitsSince   time.Time // for the repository or the blackboard; zero: it does not wait
}
