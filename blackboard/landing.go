package blackboard

import (
	"strconv"
	"time"
)

// TypeLanding is the type of artefacts with the commit that a branch is about to have, for
// agents to verify. TypeLandingReview is that of the Reviews that send a result back.
const (
	TypeLanding       = "Landing"
	TypeLandingReview = "LandingReview"
)

// LandingState is how far the landing of a goal's result is.
type LandingState string

// The states. The last three are ends of the goal's turn.
const (
	LandingQueued    LandingState = "queued"    // waits for its turn
	LandingBarred    LandingState = "barred"    // the branch cannot be moved, until a person acts
	LandingVerifying LandingState = "verifying" // agents look at the commit that the branch would have
	LandingMoving    LandingState = "moving"    // the branch is being moved
	LandingRefused   LandingState = "refused"   // a conflict, or feedback: the result will be reworked
	LandingReworked  LandingState = "reworked"  // its maker reworks it
	LandingLanded    LandingState = "landed"    // the branch has it
	LandingNone      LandingState = "none"      // there was nothing to land, or it failed
)

// Landing is the landing of a goal's result on a branch, by itself. Fields that its
// state does not mention may be of an earlier one.
type Landing struct {
	State        LandingState `json:"state"`
	Artefact     string       `json:"artefact_id,omitempty"`     // the result
	Branch       string       `json:"branch,omitempty"`          //
	How          string       `json:"how,omitempty"`             // moving, landed: as in sett land
	Tip          string       `json:"tip,omitempty"`             // the commit of the branch that the plan was made on
	Commit       string       `json:"commit,omitempty"`          // that the branch gets
	Verification string       `json:"verification_id,omitempty"` // the Landing that agents verify
	Review       string       `json:"review_id,omitempty"`       // refused: the Review that says why
	Reason       string       `json:"reason,omitempty"`          // barred, refused, none
	Trouble      string       `json:"trouble,omitempty"`         // why the last try failed, in any state; it is tried again, and others land meanwhile
	People       bool         `json:"people,omitempty"`          // only a person ends the wait
	Since        time.Time    `json:"-"`                         // when its goal was achieved
}

// LandingStep is a move of a landing that is open.
type LandingStep struct {
	Epoch    string
	Workflow string
	From     Landing   // that the step was decided on
	To       Landing   //
	Over     bool      // the goal ends with it
	Artefact *Artefact // to write in the same move; nil: none
	Rework   *LandingRework
}

// AlreadyThere is how a landing was made that a later one found made.
const AlreadyThere = "already there"

// LandedByHand is a landing that a person made.
type LandedByHand struct {
	Word     string // by which it is recorded once
	Workflow string
	Artefact string // with the result
	Branch   string
	Before   string // the branch's commit; empty: it had none
	Commit   string // that the branch got
	How      string // fast-forward, merge, rebase or squash; already there: it was found so
	Earlier  *Moved // already there: how it came to be, where the repository tells; nil: unknown
}

// Moved is the move of a branch by a sett land, as the repository's reflog tells it.
type Moved struct {
	By  string    // as git names the person
	At  time.Time // by the clock of that machine
	How string    // fast-forward, merge, rebase or squash
}

// FoundLandedWord returns the word by which it is recorded that a branch has a result already.
func FoundLandedWord(artefact, branch string) string { return derivedID("landed "+branch, artefact) }

// Lands says whether the entry records that a result reached a branch: by a person, or by itself.
func (e Event) Lands(artefact, branch string) bool {
	return e.Artefact == artefact && e.Attributes["branch"] == branch &&
		(e.Kind == EventLand || e.Kind == EventLanding && e.To == string(LandingLanded))
}

// LandingRework is the rework of a result that did not land.
type LandingRework struct {
	Rework
	Artefact string // the result
}

// LandingReviewID returns the id of the one Review by which the landing of a result is
// refused, in the turn of its goal that began then.
func LandingReviewID(result string, turn time.Time) string {
	return derivedID("landing review "+turnText(turn), result)
}

// LandingReworkID returns the id of the one rework claim that this leads to.
func LandingReworkID(result string, turn time.Time) string {
	return derivedID("landing rework "+turnText(turn), result)
}

// LandingID returns the id of a goal's Landing of a commit, but for its first one. Tries counts those of it whose
// verification was superseded.
func LandingID(goal, commit string, turn time.Time, tries int) string {
	purpose := "landing " + turnText(turn) + " " + commit
	if tries > 0 {
		purpose += " " + strconv.Itoa(tries)
	}
	return derivedID(purpose, goal)
}

func turnText(turn time.Time) string { return strconv.FormatInt(turn.UnixMicro(), 10) }

// OfLanding says whether the target is a Landing of the role repository: a commit that a branch is about to have.
func (t Target) OfLanding() bool {
	return t.Type == TypeLanding && t.Agent == "" && t.Role == RoleRepository
}

// LandingThread returns the thread of all Landings of a goal: the id of the first.
func LandingThread(goal string) string { return derivedID("landings", goal) }

// HoldsResult says whether the artefact can be a goal's result on a branch: an agent's work
// that names a commit.
func (a Artefact) HoldsResult() bool {
	return a.Counts() && a.NamesCommit() &&
		(a.ProducedByAgent != "" || a.ProducedByRole != RoleRepository)
}

// Counts says whether the artefact counts towards max_artefacts.
func (a Artefact) Counts() bool { return a.StructuralType == Standard || a.StructuralType == Terminal }

// Reworked returns how far a goal has come, of its artefacts: the latest version of a thread, which need not
// name a commit, and the number of those that count. An artefact with an error is lost.
func Reworked(all []Outline, each []error, thread string) (version, count int) {
	for i, a := range all {
		if each[i] != nil {
			continue
		}
		if a.LogicalID == thread {
			version = max(version, a.Version)
		}
		if a.Counts() {
			count++
		}
	}
	return version, count
}

// ResultOf returns the id of the artefact with a goal's result, of the goal's artefacts, oldest first: its
// Terminal if that names a commit, else the last one that does. Empty: none does. An
// artefact with an error is lost.
func ResultOf(all []Outline, each []error, terminal string) (id string) {
	for i, a := range all {
		if each[i] != nil || !a.HoldsResult() {
			continue
		}
		if id = a.ID; id == terminal {
			break // it counts, whatever came after
		}
	}
	return id
}
