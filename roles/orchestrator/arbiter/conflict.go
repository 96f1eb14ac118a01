package arbiter

import (
	"slices"

	"sett/blackboard"
)

// ConflictKind is the kind of a decision about a grant whose commits do not merge.
type ConflictKind string

// The kinds of decisions.
const (
	ConflictWait   ConflictKind = "wait"   // others are at work on it
	ConflictGoOn   ConflictKind = "go on"  // Settled takes the place of both sides
	ConflictRework ConflictKind = "rework" // nobody settled it: the later side is sent back
	ConflictFail   ConflictKind = "fail"   // it stays as it is
)

// ConflictFacts is all that a decision about a Conflict depends on.
type ConflictFacts struct {
	Claim    *blackboard.Snapshot // of the claim on it, the last one of those that try it again; nil: it has none
	Refused  bool                 // it has none, and never will
	Settled  string               // the result of that claim that has a commit; empty: none
	Later    string               // the side that is sent back
	Latest   string               // the latest version of it
	Commits  bool                 // that version has a commit
	Rework   *blackboard.Claim    // of that version because of this Conflict, the last one; nil: it was not sent back
	Reworked bool                 // an older version was sent back because of it: the claim on it counts no more
}

// ConflictDecision is the answer.
type ConflictDecision struct {
	Kind    ConflictKind
	Settled string // ConflictGoOn
	Reason  string // ConflictFail: for people
}

// DecideConflict returns the next decision about a grant that waits for a Conflict. Before are the artefacts
// that took the place of commits in that grant before: one of these settles nothing. How often the later side
// is sent back is SendBack's to decide.
func DecideConflict(f ConflictFacts, before []string) ConflictDecision {
	switch r := f.Rework; {
	case r == nil:
	case !r.Status.Closed():
		return ConflictDecision{Kind: ConflictWait}
	case r.Status == blackboard.Terminated:
		return ended("rework", *r)
	default:
		return ConflictDecision{Kind: ConflictFail, Reason: "the rework of claim " + blackboard.ShortID(r.ID) + " made no new version"}
	}
	if !f.Reworked {
		switch c := f.Claim; {
		case c == nil && f.Refused:
			return ConflictDecision{Kind: ConflictFail, Reason: "it gets no claim"}
		case c == nil || !c.Claim.Status.Closed():
			return ConflictDecision{Kind: ConflictWait}
		case c.Claim.Status == blackboard.Terminated && !c.FedBack():
			return ended("settling", c.Claim)
		case f.Settled != "" && !slices.Contains(before, f.Settled):
			return ConflictDecision{Kind: ConflictGoOn, Settled: f.Settled}
		}
	}
	if f.Latest != f.Later && f.Commits && !slices.Contains(before, f.Latest) {
		return ConflictDecision{Kind: ConflictGoOn, Settled: f.Latest}
	}
	return ConflictDecision{Kind: ConflictRework}
}

// ended is the end of work that failed: a person may have it tried again.
func ended(work string, c blackboard.Claim) ConflictDecision {
	d := ConflictDecision{Kind: ConflictFail, Reason: work + " failed in claim " + blackboard.ShortID(c.ID)}
	if c.Reason != "" {
		d.Reason += " (" + c.Reason + ")"
	}
	d.Reason += ": sett retry it first"
	return d
}
