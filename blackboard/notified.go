package blackboard

import "time"

// Notifier is how people are told of events, as the notifier says it.
type Notifier struct {
	Incarnation string  `json:"incarnation,omitempty"`
	Unfit       string  `json:"unfit,omitempty"`  // the reason that its command cannot be run where it is
	Untold      *Untold `json:"untold,omitempty"` // nil: its last event was told
	Told        string  `json:"told,omitempty"`   // the position up to which a notifier of before had told when it was removed
}

// Untold is the event that the notifier cannot tell. The events after it wait.
type Untold struct {
	Since    time.Time `json:"since"`       // no event has been told since then, by the notifier's clock
	Event    string    `json:"event"`       // its kind
	Workflow string    `json:"workflow_id"` // its goal
	Position string    `json:"position"`    // in the ledger
	Tries    int       `json:"tries"`
	Error    string    `json:"error"` // of the last try
	GivenUp  bool      `json:"given_up,omitempty"`
}
