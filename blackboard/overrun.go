package blackboard

import (
	"cmp"
	"fmt"
	"time"
)

// Overrun is a script that ran on the blackboard without an end and was ended. Fields
// are empty where the server did not tell.
type Overrun struct {
	Addr  string // of the client
	Name  string // as the client calls itself, which proves nothing
	User  string // of the server, as which the client had to log in
	Agent string // by the user, else by the name; empty: no agent's cub

	Ran       time.Duration
	Restarted bool // it had written, so the server was ended without it, and starts again
}

// Client names the client for people.
func (o Overrun) Client() string {
	if o.Addr == "" {
		return "an unknown client"
	}
	return cmp.Or(o.Name, "an unnamed client") + " " + o.Addr
}

// Reason says why and how the script was ended.
func (o Overrun) Reason() string {
	if o.Restarted {
		return "it kept the blackboard from everybody else, and had written: the blackboard was restarted without it"
	}
	return fmt.Sprintf("it ran for %s and kept the blackboard from everybody else", o.Ran.Round(time.Millisecond))
}
