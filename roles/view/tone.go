package view

import "sett/blackboard"

// Tone says how a text stands out among others.
type Tone string

// The tones.
const (
	Plain Tone = ""
	Quiet Tone = "quiet" // hardly matters
	Good  Tone = "good"
	Warn  Tone = "warn" // concerns a person
	Bad   Tone = "bad"
)

// WorkflowTone lets the end of a goal stand out.
func WorkflowTone(s blackboard.WorkflowStatus) Tone {
	switch s {
	case blackboard.WorkflowAchieved:
		return Good
	case blackboard.WorkflowFailed:
		return Bad
	case blackboard.WorkflowStalled:
		return Warn
	}
	return Plain
}

// ClaimTone lets the end of a claim stand out.
func ClaimTone(s blackboard.ClaimStatus) Tone {
	switch s {
	case blackboard.Complete:
		return Good
	case blackboard.Terminated:
		return Warn
	}
	return Plain
}

// GrantTone lets the state of a grant stand out.
func GrantTone(g blackboard.Grant) Tone {
	switch {
	case g.State == blackboard.GrantFailed:
		return Bad
	case g.Verdict == blackboard.Feedback, g.State == blackboard.GrantAwaitingAnswer:
		return Warn
	case g.State == blackboard.GrantDone:
		return Good
	}
	return Plain
}

// StructuralTone lets a line about an artefact stand out by its structural type.
func StructuralTone(t blackboard.StructuralType) Tone {
	switch t {
	case blackboard.Terminal:
		return Good
	case blackboard.Failure:
		return Bad
	case blackboard.Question:
		return Warn
	}
	return Plain
}
