package blackboard

import (
	"encoding/json"
	"slices"
)

// TypeConflict is the type of artefacts about commits of one goal that do not merge.
// TypeConflictReview is that of the Reviews that send the later one back.
// TypeUnsettledConflict is that of the Failures of work that would begin with such commits.
const (
	TypeConflict          = "Conflict"
	TypeConflictReview    = "ConflictReview"
	TypeUnsettledConflict = "UnsettledConflict"
)

// Conflict is the payload of a Conflict. Its artefact's commit is their merge, with git's
// marks in the files.
type Conflict struct {
	Ours   ConflictSide `json:"ours"`
	Theirs ConflictSide `json:"theirs"`         // the later one, of one artefact
	Base   string       `json:"base,omitempty"` // their common ancestor; empty: there is none
	Files  []string     `json:"files"`
	Hunks  any          `json:"hunks,omitempty"`
}

// ConflictSide is one side of a conflict.
type ConflictSide struct {
	Artefacts []string `json:"artefacts"` // of several, the merge
	Commit    string   `json:"commit"`
}

// IsConflict says whether the artefact is about commits that do not merge. An agent's
// own artefact of that name is not.
func (a Artefact) IsConflict() bool {
	return a.Type == TypeConflict && a.StructuralType == Standard && a.ProducedByRole == RoleRepository && a.ProducedByAgent == ""
}

// Conflict reads the payload of a Conflict.
func (a Artefact) Conflict() (c Conflict, ok bool) {
	ok = a.IsConflict() && json.Unmarshal([]byte(a.Payload), &c) == nil && len(c.Theirs.Artefacts) == 1
	return c, ok
}

// ConflictID returns the id of the one Conflict of two commits in a goal.
func ConflictID(goal, ours, theirs string) string {
	return derivedID("conflict "+ours+" "+theirs, goal)
}

// ConflictReviewID returns the id of the Review by which a Conflict sends a version of its later side back.
// Empty: the first version that it sends back.
func ConflictReviewID(conflict, version string) string {
	return derivedID(ofVersion("conflict review", version), conflict)
}

// ConflictReworkID returns the id of the rework claim that this leads to.
func ConflictReworkID(conflict, version string) string {
	return derivedID(ofVersion("conflict rework", version), conflict)
}

func ofVersion(purpose, version string) string {
	if version == "" {
		return purpose
	}
	return purpose + " of " + version
}

// Clash hands a running grant back, since the commits that its tree starts from do not
// merge: the grant waits until the Conflict is settled.
type Clash struct {
	GrantRef
	Conflict Artefact
}

// Unclash lets a waiting grant go on.
type Unclash struct {
	Epoch        string
	Claim, Agent string
	Conflict     string // that it waits for
	Settled      string // the artefact that takes the place of both sides
}

// ConflictRework sends the later side of a Conflict back to its maker.
type ConflictRework struct {
	Epoch    string
	Review   Artefact
	Artefact string // to rework
	Rework
}

// Blocked says whether the claim waits for a Conflict alone: one of its grants does,
// and all others have ended well.
func (s Snapshot) Blocked() bool {
	waits := false
	for _, g := range s.Grants {
		switch {
		case g.Waiting():
			waits = true
		case slices.Contains([]GrantState{GrantQueued, GrantRunning, GrantFailed, GrantAwaitingAnswer}, g.State):
			return false
		}
	}
	return waits && !s.Claim.Status.Closed()
}

// Waiting says whether the grant is queued and cannot be started until its Conflict is settled.
func (g Grant) Waiting() bool { return g.State == GrantQueued && g.Conflict != "" }
