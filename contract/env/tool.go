package env

import (
	"slices"
	"strconv"
	"strings"
)

// The variables of a tool's run, beside ClaimID and Attempt. The JSON on stdin has
// all of them, too; they are for tools that cannot read JSON.
const (
	ClaimType     = "SETT_CLAIM_TYPE"     // review, claim or exclusive
	TargetID      = "SETT_TARGET_ID"      // the artefact the claim is about
	TargetType    = "SETT_TARGET_TYPE"    // its type, such as GoalDefined
	TargetVersion = "SETT_TARGET_VERSION" // its version in its thread; 1 for the first
	TargetPayload = "SETT_TARGET_PAYLOAD" // its payload; unset when it is long or binary
	GoalID        = "SETT_GOAL_ID"        // the goal that the work is for
	GoalText      = "SETT_GOAL"           // its text; unset when it is long or binary
	SlotNumber    = "SETT_SLOT"           // from 1 to SETT_SLOTS: no other grant that the agent runs at the same time has it; unset for bid scripts
	SlotCount     = "SETT_SLOTS"          // the most grants that the agent runs at once
)

// TraceParent names the span of the run, where goals are sent as traces; see
// w3.org/TR/trace-context. It takes the place of one that the cub has itself, with TraceState.
const (
	TraceParent = "TRACEPARENT"
	TraceState  = "TRACESTATE"
)

// MaxPayload is the longest payload or goal, in bytes, that a variable holds: systems
// limit the size of an environment.
const MaxPayload = 4 << 10

// ToolVars has the claim and the target of one run of a tool.
type ToolVars struct {
	ClaimID, ClaimType                  string
	TargetID, TargetType, TargetPayload string
	TargetVersion, Attempt              int
	GoalID, Goal                        string // the goal's id and its text
	Slot, Slots                         int    // 0: none
	TraceParent                         string // empty: there are no traces
}

// toolNames lists the variables that ToolEnviron sets, in its order.
var toolNames = []string{ClaimID, Attempt, ClaimType, TargetID, TargetType, TargetVersion, TargetPayload, GoalID, GoalText, SlotNumber, SlotCount}

// ToolEnviron returns the environment of a tool: the cub's environment without
// Secret and without Sett's empty variables, and with the variables of this run in place of the cub's own. It leaves
// out a payload or a goal longer than MaxPayload, and any value with a NUL byte, because no
// environment can hold one. It does not change the given slice.
func ToolEnviron(environ []string, in ToolVars) []string {
	out := make([]string, 0, len(environ)+len(toolNames))
	for _, v := range WithoutSecrets(environ) {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(toolNames, name) && (in.TraceParent == "" || name != TraceParent && name != TraceState) {
			out = append(out, v)
		}
	}
	values := []string{
		in.ClaimID, strconv.Itoa(in.Attempt), in.ClaimType, in.TargetID, in.TargetType, strconv.Itoa(in.TargetVersion),
		in.TargetPayload, in.GoalID, in.Goal, strconv.Itoa(in.Slot), strconv.Itoa(in.Slots),
	}
	for i, name := range toolNames {
		tooLong := (name == TargetPayload || name == GoalText) && len(values[i]) > MaxPayload
		unknown := in.GoalID == "" && (name == GoalID || name == GoalText) || in.Slot == 0 && (name == SlotNumber || name == SlotCount)
		if !tooLong && !unknown && !strings.ContainsRune(values[i], 0) {
			out = append(out, name+"="+values[i])
		}
	}
	if in.TraceParent != "" {
		out = append(out, TraceParent+"="+in.TraceParent)
	}
	return out
}
