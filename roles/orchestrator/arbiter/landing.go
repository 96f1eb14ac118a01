package arbiter

import "sett/blackboard"

// LandingKind is the kind of a decision about a landing.
type LandingKind string

// The kinds of decisions.
const (
	LandWait   LandingKind = "wait"   // agents are at work on it, and it keeps its turn
	LandPlan   LandingKind = "plan"   // find the commit that the branch shall have
	LandMove   LandingKind = "move"   // move the branch
	LandLook   LandingKind = "look"   // of a goal that was cancelled meanwhile: see whether the branch was moved, and move nothing
	LandRefuse LandingKind = "refuse" // the verification has feedback: write the Review
	LandRework LandingKind = "rework" // the Review is written: send the result back
	LandEnd    LandingKind = "end"    // there is nothing more to do
)

// LandingFacts is all that a decision about a goal's landing depends on.
type LandingFacts struct {
	Landing     blackboard.Landing
	Outstanding int                    // of the goal; 1: its landing alone
	Failures    int                    // of the goal
	Ended       bool                   // somebody cancelled the goal
	Branch      string                 // that sett.yml has results land on; empty: on none
	Verdict     blackboard.ClaimStatus // verifying: of the claim on the Landing
	Superseded  bool                   // verifying: that claim is terminated, and was superseded
}

// LandingDecision is the answer.
type LandingDecision struct {
	Kind   LandingKind
	Reason string // LandEnd: for people
}

// Superseded says whether a claim on a Landing without a Failure ended for no feedback: since no landing was verified any
// more.
func Superseded(s blackboard.Snapshot) bool {
	return s.Claim.Status == blackboard.Terminated && !s.FedBack()
}

// endedByPerson is the reason against the landing of a goal that somebody cancelled.
const endedByPerson = "the goal was cancelled"

// NotLanded is the end of a landing that was under way when its goal was cancelled, where the branch was not moved.
func NotLanded() LandingDecision { return LandingDecision{Kind: LandEnd, Reason: endedByPerson} }

// DecideLanding returns the next decision about the landing of a goal whose turn it is.
func DecideLanding(f LandingFacts) LandingDecision {
	l := f.Landing
	switch {
	case f.Ended && l.State == blackboard.LandingMoving:
		return LandingDecision{Kind: LandLook}
	case f.Ended:
		return LandingDecision{Kind: LandEnd, Reason: endedByPerson}
	case f.Outstanding > 1:
		return LandingDecision{Kind: LandWait}
	case f.Failures > 0:
		return LandingDecision{Kind: LandEnd, Reason: "the goal failed"}
	case l.State == blackboard.LandingMoving: // it may have moved already
		return LandingDecision{Kind: LandMove}
	case l.State == blackboard.LandingRefused:
		return LandingDecision{Kind: LandRework}
	case f.Branch == "":
		return LandingDecision{Kind: LandEnd, Reason: "sett.yml has no land any more"}
	case l.State == blackboard.LandingVerifying && l.Branch == f.Branch:
		switch {
		case f.Superseded:
			return LandingDecision{Kind: LandPlan}
		case f.Verdict == blackboard.Complete:
			return LandingDecision{Kind: LandMove}
		case f.Verdict == blackboard.Terminated:
			return LandingDecision{Kind: LandRefuse}
		}
		return LandingDecision{Kind: LandWait}
	}
	return LandingDecision{Kind: LandPlan}
}
