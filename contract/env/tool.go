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
)

// MaxPayload is the longest payload, in bytes, that TargetPayload holds: systems
// limit the size of an environment.
const MaxPayload = 4 << 10

// ToolVars has the claim and the target of one run of a tool.
type ToolVars struct {
	ClaimID, ClaimType                  string
	TargetID, TargetType, TargetPayload string
	TargetVersion, Attempt              int
}

// toolNames lists the variables that ToolEnviron sets, in its order.
var toolNames = []string{ClaimID, Attempt, ClaimType, TargetID, TargetType, TargetVersion, TargetPayload}

// ToolEnviron returns the environment of a tool: the cub's environment without
// Secret, and with the variables of this run in place of the cub's own. It leaves
// out a payload longer than MaxPayload, and any value with a NUL byte, because no
// environment can hold one. It does not change the given slice.
func ToolEnviron(environ []string, in ToolVars) []string {
	out := make([]string, 0, len(environ)+len(toolNames))
	for _, v := range WithoutSecrets(environ) {
		name, _, _ := strings.Cut(v, "=")
		if !slices.Contains(toolNames, name) {
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
