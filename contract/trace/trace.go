// Package trace names the trace of a goal and its spans, in the forms of W3C Trace Context
// (w3.org/TR/trace-context). Names follow from ids of the blackboard alone: a cub gives
// its tool the name of a span that the orchestrator sends later, and a span that is sent twice
// is the same span.
package trace

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
)

// ID names the trace of a goal: 16 bytes in hex.
func ID(goal string) string { return short(16, "trace", goal) }

// Root names the span of the goal itself: 8 bytes in hex.
func Root(goal string) string { return short(8, "goal", goal) }

// Claim names the span of a claim.
func Claim(claim string) string { return short(8, "claim", claim) }

// Grant names the span of an agent's grant on a claim.
func Grant(claim, agent string) string { return short(8, "grant", claim, agent) }

// Run names the span of a tool's run: one attempt of a grant.
func Run(claim, agent string, attempt int) string {
	return short(8, "run", claim, agent, strconv.Itoa(attempt))
}

// Call names the span of a call of a model.
func Call(call string) string { return short(8, "call", call) }

// Landing names the span of a goal's turn to land, counted from 1.
func Landing(goal string, turn int) string { return short(8, "landing", goal, strconv.Itoa(turn)) }

// Parent is the value of TRACEPARENT for a tool's run: version 00, sampled.
func Parent(goal, claim, agent string, attempt int) string {
	return "00-" + ID(goal) + "-" + Run(claim, agent, attempt) + "-01"
}

// short is the beginning of a digest of texts, in hex. It is never all zero, which would
// be no name: the digest of a known text is not.
func short(bytes int, texts ...string) string {
	h := sha256.New()
	for _, t := range texts {
		h.Write([]byte(strconv.Quote(t))) // so that no two lists are one text
	}
	return hex.EncodeToString(h.Sum(nil)[:bytes])
}
