package env

import (
	"slices"
	"strconv"
	"strings"
)

// The variables of a tool's run, beside ClaimID and Attempt. All of them stand in
// the JSON on stdin as well; they are for tools that have nothing to read JSON
// with.
const (
	ClaimType     = "SETT_CLAIM_TYPE"     // review, claim or exclusive
	TargetID      = "SETT_TARGET_ID"      // the artefact the claim is about
	TargetType    = "SETT_TARGET_TYPE"    // its type, such as GoalDefined
	TargetVersion = "SETT_TARGET_VERSION" // its version in its thread; 1 for the first
	TargetPayload = "SETT_TARGET_PAYLOAD" // its payload; unset when it is long or binary
)

// MaxPayload is the longest payload, in bytes, that is put into TargetPayload:
// a system's room for a program's environment is small.
const MaxPayload = 4 << 10

// ToolVars is what one run of a tool is about.
type ToolVars struct {
	ClaimID, ClaimType                  string
	TargetID, TargetType, TargetPayload string
	TargetVersion, Attempt              int
}

// toolNames lists what ToolEnviron sets, in its order.
var toolNames = []string{ClaimID, Attempt, ClaimType, TargetID, TargetType, TargetVersion, TargetPayload}

// ToolEnviron returns the environment of a tool: that of its cub without Secret,
// and with the variables of this run in place of any that the cub itself was
// given. A payload that is longer than MaxPayload is left out, and so is any
// value with a NUL byte, which no environment can hold. The given slice is not
// changed.
func ToolEnviron(environ []string, in ToolVars) []string {
	out := make([]string, 0, len(environ)+len(toolNames))
	for _, v := range environ {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(Secret, name) && !slices.Contains(toolNames, name) {
			out = append(out, v)
		}
	}
	values := []string{
		in.ClaimID, strconv.Itoa(in.Attempt), in.ClaimType, in.TargetID, in.TargetType, strconv.Itoa(in.TargetVersion),
		in.TargetPayload,
	}
	for i, name := range toolNames {
		tooLong := name == TargetPayload && len(values[i]) > MaxPayload
		if !tooLong && !strings.ContainsRune(values[i], 0) {
			out = append(out, name+"="+values[i])
		}
	}
	return out
}
