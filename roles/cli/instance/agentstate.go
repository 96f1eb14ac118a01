package instance

import (
	"time"

	"sett/blackboard"
	"sett/runtime"
)

// AgentState is the state of an agent, the same in every command.
type AgentState string

// The states of an agent.
const (
	AgentIdle     AgentState = "idle"
	AgentWorking  AgentState = "working"
	AgentStarting AgentState = "starting"  // it runs, and has not reported yet
	AgentSilent   AgentState = "silent"    // it runs, and is not heard of any more
	AgentUnwell   AgentState = "unhealthy" // its newest bid could not be evaluated
	AgentUnfit    AgentState = "unfit"     // its program cannot be run where it is
	AgentPaused   AgentState = "paused"    // by the container engine
	AgentStopped  AgentState = "stopped"
)

// StateOf returns an agent's state from its unit (Running is false where there is none), its
// entry of the roster, and whether a grant of it runs.
func StateOf(unit runtime.Unit, p blackboard.Presence, now time.Time, works bool) AgentState {
	switch {
	case !unit.Running:
		return AgentStopped
	case unit.Paused:
		return AgentPaused
	case p.Incarnation == "" || p.Incarnation != unit.Labels[runtime.LabelIncarnation]:
		return AgentStarting
	case !blackboard.Lives(p.Alive, now):
		return AgentSilent
	case p.Unfit:
		return AgentUnfit
	case p.Trouble != "":
		return AgentUnwell
	case works:
		return AgentWorking
	}
	return AgentIdle
}

// Answers says whether the agent has started and is heard of: a start is over.
func (s AgentState) Answers() bool { return s.Ready() || s == AgentUnfit }

// Ready says whether the agent takes work. An unhealthy one does where its rules need no
// script, or its script works again.
func (s AgentState) Ready() bool { return s == AgentIdle || s == AgentWorking || s == AgentUnwell }

// Trouble is the reason why an agent that answers is not well; empty: it is, or is not heard of.
func (s AgentState) Trouble(p blackboard.Presence) string {
	switch s {
	case AgentUnfit:
		return string(s) + ": " + p.Trouble
	case AgentUnwell:
		return string(s) + ": its newest bid could not be evaluated: " + p.Trouble
	}
	return ""
}
