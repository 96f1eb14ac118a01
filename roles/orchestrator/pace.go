package orchestrator

import "time"

// pace is how often and how patiently the orchestrator does things. Tests that
// cannot wait pass their own.
type pace struct {
	tick            time.Duration // what is open is read again so often, in case a notice was lost
	retry           time.Duration // after which a decision that the blackboard was not there for is tried again
	lookAround      time.Duration // silence and orphans are looked for so often
	silentAfter     time.Duration // without a heartbeat for so long, an agent that runs is taken for hung
	askHealth       time.Duration // whose health is to be asked for is looked at so often
	healthyAfter    time.Duration // a run of this length resets the back-off
	shortestBackoff time.Duration
	longestBackoff  time.Duration
	standby         time.Duration // who waits for the lead looks at least so often: it may have been given up
}

func usualPace() pace {
	return pace{
		tick: 5 * time.Second, retry: time.Second, lookAround: 15 * time.Second, silentAfter: 30 * time.Second, askHealth: time.Second, healthyAfter: 30 * time.Second,
		shortestBackoff: 100 * time.Millisecond, longestBackoff: 10 * time.Second, standby: 2 * time.Second,
	}
}
