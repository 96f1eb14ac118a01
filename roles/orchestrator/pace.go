package orchestrator

import (
	"time"

	"sett/roles/orchestrator/supervisor"
	"sett/runtime"
)

// pace is the timing of an orchestrator. Tests that cannot wait pass their own.
type pace struct {
	tick    time.Duration // between reads of the open work, in case a notice was lost
	retry   time.Duration // before a decision is tried again that the blackboard did not answer
	standby time.Duration // at most so long between looks whether the lead is free
	sweep   time.Duration // between looks for commits that no artefact names, and for trees that nobody asks about any more
	orphan  time.Duration // from the end of a grant until nobody asks about its tree any more
	units   supervisor.Pace

	landings runtime.Backoff // between tries to land a goal that the repository has trouble with
	backoff  runtime.Backoff // of units that end
}

func usualPace() pace {
	return pace{
		tick: 5 * time.Second, retry: time.Second, standby: 2 * time.Second, sweep: 15 * time.Second, orphan: time.Minute,
		units:   supervisor.Pace{LookAround: 15 * time.Second, SilentAfter: 30 * time.Second, Promise: 15 * time.Second, AskHealth: time.Second},
		backoff: runtime.Backoff{Shortest: 100 * time.Millisecond, Longest: 10 * time.Second, Healthy: 30 * time.Second},

		landings: runtime.Backoff{Shortest: time.Second, Longest: time.Minute},
	}
}
