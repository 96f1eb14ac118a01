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

// Conflict is the payload of a Conflict. Its artefact's commit is their merge, with
// marks in the files.
type Conflict struct {
	Ours      ConflictSide   `json:"ours"`
	Theirs    ConflictSide   `json:"theirs"`         // the later one, of one artefact
	Base      string         `json:"base,omitempty"` // their common ancestor; empty: there is none
	Files     []string       `json:"files"`
	Conflicts []ConflictFile `json:"conflicts,omitempty"` // the kinds of the first of them; none: an older Sett did not record them
	Hunks     any            `json:"hunks,omitempty"`
}

// ConflictFile is one file of a conflict.
type ConflictFile struct {
	File   string           `json:"file"`
	Kind   string           `json:"kind"`            // in git's words, such as modify/delete
	Marks  bool             `json:"marks,omitempty"` // git has marked the lines in the file; else the versions are beside it
	Paths  []string         `json:"paths,omitempty"` // all names that the conflict is about, if more than this one
	Base   *ConflictVersion `json:"base,omitempty"`  // absent: that commit has no such file
	Ours   *ConflictVersion `json:"ours,omitempty"`
	Theirs *ConflictVersion `json:"theirs,omitempty"`
}

// ConflictVersion is a file as one commit has it.
type ConflictVersion struct {
	Mode   string `json:"mode"`         // git's: 100644, 100755 of a program, 120000 of a link, 160000 of a submodule
	Object string `json:"object"`       // the blob; of a submodule its commit
	At     string `json:"at,omitempty"` // the file of the Conflict's commit that has this version; absent: none has it alone
}

// Modes of versions that are no plain files.
const (
	ModeLink      = "120000"
	ModeSubmodule = "160000"
)

// conflictWords are the kinds in plain words.
var conflictWords = map[string]string{
	"contents":                     "both sides changed it",
	"binary":                       "both sides changed a binary file",
	"modify/delete":                "one side changed it, the other removed it",
	"rename/delete":                "one side renamed it, the other removed it",
	"rename/rename":                "the two sides gave a file different names",
	"distinct modes":               "the sides have files of different kinds or modes under this name",
	"file/directory":               "one side has a file of this name, the other a directory",
	"rename involved in collision": "one side renamed a file to this name, which the other side has, too",
	"submodule":                    "the sides have different commits of this submodule",
	"directory rename suggested":   "one side renamed the directory in which the other added it",
}

// Words are its kind in plain words.
func (f ConflictFile) Words() string {
	if f.Kind == "contents" && f.Marks {
		return "both sides changed the same lines"
	}
	if said := conflictWords[f.Kind]; said != "" {
		return said
	}
	return "git cannot merge it"
}

// Elsewhere are the files for a tree that does not start at the Conflict's commit: it has no version beside them.
func (c Conflict) Elsewhere() []ConflictFile {
	all := slices.Clone(c.Conflicts)
	for i := range all {
		for _, v := range []**ConflictVersion{&all[i].Ours, &all[i].Theirs} {
			if *v != nil {
				plain := **v
				plain.At = ""
				*v = &plain
			}
		}
	}
	return all
}

// Decisions are the versions beside the file, one of which an agent has to choose.
func (f ConflictFile) Decisions() (at []string) {
	for _, v := range []*ConflictVersion{f.Ours, f.Theirs} {
		if v != nil && v.At != "" {
			at = append(at, v.At)
		}
	}
	return at
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
