package status

import (
	"fmt"
	"time"

	"sett/blackboard"
	"sett/roles/role"
	"sett/roles/role/words"
	"sett/roles/view"
)

// Notifier is the trouble of telling people. The names of its fields are part of the
// interface. Without an event that is untold, all but unfit is absent.
type Notifier struct {
	Unfit      string    `json:"unfit,omitempty"`       // the reason that its command cannot be run where it is
	Since      time.Time `json:"untold_since,omitzero"` // no event has been told since then
	AgeSeconds int64     `json:"untold_age_seconds,omitempty"`
	Event      string    `json:"event,omitempty"` // the kind of the event that cannot be told
	Workflow   string    `json:"workflow_id,omitempty"`
	Position   string    `json:"position,omitempty"` // in the ledger
	Tries      int       `json:"tries,omitempty"`
	Error      string    `json:"error,omitempty"`    // of the last try
	GivenUp    bool      `json:"given_up,omitempty"` // it is not tried any more; nothing was told after it
}

// notifierTrouble is the trouble that the notifier says it has; nil: none.
func notifierTrouble(said blackboard.Notifier, now time.Time) *Notifier {
	n := &Notifier{Unfit: said.Unfit}
	if u := said.Untold; u != nil {
		n.Since, n.AgeSeconds = u.Since, view.AgeSeconds(now, u.Since)
		n.Event, n.Workflow, n.Position, n.Tries, n.Error, n.GivenUp = u.Event, u.Workflow, u.Position, u.Tries, u.Error, u.GivenUp
	}
	if *n == (Notifier{}) {
		return nil
	}
	return n
}

// Text is the trouble for people, in one line.
func (n *Notifier) Text() string {
	why := role.Clean(n.Error)
	if n.Unfit != "" {
		why = "unfit: " + role.Clean(n.Unfit)
	}
	if n.Since.IsZero() {
		return "notifier is " + why
	}
	what := "it is tried again, and the events after it wait"
	if n.GivenUp {
		what = "it was given up"
	}
	event := role.Clean(n.Event)
	if event == "workflow" {
		event = "end"
	}
	return fmt.Sprintf("notifier has told no event for %s: %s (%s of goal %s, %s; %s)", view.AgeOf(n.AgeSeconds), why,
		event, role.Clean(words.Short(n.Workflow)), words.Count(n.Tries, "try", "tries"), what)
}
