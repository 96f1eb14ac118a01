// Package arbiter is a claim's life as a pure function: from a snapshot of the
// claim, the policy of sett.yml and the time to the next decision. All rules of
// bidding, of the three phases, of rework and of failure are here.
//
// It performs no I/O, reads no clock and remembers nothing. The caller applies the
// decision in one move, which is refused if the claim has changed since the
// snapshot, and then asks again: deciding twice is harmless. A grant fails without
// that guard (the move checks its attempt and holder instead), so FailGrant depends
// on nothing but the grant and the clan.
//
// A snapshot may be torn (its bids and grants younger than its claim) or
// corrupt. The function is total: it never panics, and following its decisions
// always comes to an end or to a wait (blackboard.Waits names it).
package arbiter

import (
	"time"

	"sett/blackboard"
)

// Policy is the part of sett.yml that decisions depend on, as it is now.
type Policy struct {
	Clan                []string      // the agents' names, in any order
	MaxReviewIterations int           // reworks of one thread; 0 and less: any number
	BidTimeout          time.Duration // after which silence is an ignore; 0: wait for ever
	BidsRequired        []string      // agents whose silence never is
	QuestionTimeout     time.Duration // after which a question without an answer is a Failure; 0: wait for ever
	Verifies            bool          // the commits that branches are about to have are shown to agents; else claims on them are superseded
	AskAtReviewLimit    bool          // at MaxReviewIterations a person is asked; else a Failure is written
}

// Kind is the kind of a decision.
type Kind string

// The kinds of decisions.
const (
	Wait          Kind = "wait"           // nothing now
	RecordIgnores Kind = "record_ignores" // turn the silence of Agents into bids
	GrantPhase    Kind = "grant_phase"    // move to Phase and queue a grant for each of Agents
	FailGrant     Kind = "fail_grant"     // end the grant of Agents[0] with a Failure
	Complete      Kind = "complete"       // close the claim as done
	Terminate     Kind = "terminate"      // close it as failed or rejected, cancel its open grants
)

// Reasons for RecordIgnores.
const (
	ReasonAgentRemoved = "agent_removed" // it has left sett.yml
	ReasonBidTimeout   = "bid_timeout"   // it kept silent for too long
)

// Types of Failure artefacts that have no other home.
const (
	// FailureGoalRejected: a reviewer rejected a goal, and people do not rework.
	FailureGoalRejected = "GoalRejected"
	// FailureCorruptClaim: the claim's record contradicts itself.
	FailureCorruptClaim = "CorruptClaim"
)

// ReasonSuperseded is the reason of a claim on a Landing that ends since no landing is verified any more.
const ReasonSuperseded = "sett.yml has no landing verified any more"

// ReasonUnwanted is the reason of a claim that completes without a grant.
const ReasonUnwanted = "no agent bid on it"

// Decision is the answer. Fields that its kind does not mention are zero.
type Decision struct {
	Kind        Kind
	Agents      []string         // RecordIgnores, GrantPhase (in the order of their bids), FailGrant (one)
	Phase       blackboard.Phase // GrantPhase
	Reason      string           // for people, except the two of RecordIgnores
	FailureType string           // FailGrant, Terminate: the type of the Failure to write; empty: none
	Rework      *Rework          // Terminate: the claim to open in the same move
	Closed      bool             // Wait: the claim has ended, there will never be anything to decide
	AskAgain    time.Time        // Wait: ask again then; zero: only when something changes
}

// Rework names the agent that has to make the artefact's next version, and the
// reasons.
type Rework struct {
	Agent   string
	Context []string // ids of the Reviews with feedback, in the order of their grants
	Ask     string   // a question to a person before it begins; empty: none
}

// Decide returns the next decision about a claim (DESIGN.md, section 4). It neither
// changes nor keeps its arguments.
func Decide(s blackboard.Snapshot, p Policy, now time.Time) Decision {
	if s.Claim.Status.Closed() {
		return Decision{Kind: Wait, Closed: true}
	}
	if d, over := decideBroken(s); over {
		return d
	}
	if s.Claim.Target.OfLanding() && !p.Verifies {
		return Decision{Kind: Terminate, Reason: ReasonSuperseded}
	}
	if g, ok := orphan(s, p); ok {
		return Decision{
			Kind: FailGrant, Agents: []string{g.Agent}, FailureType: blackboard.TypeAgentRemoved,
			Reason: "agent " + g.Agent + " is no longer in sett.yml",
		}
	}
	if bidding(s) {
		if missing := s.Missing(); len(missing) > 0 {
			return decideSilent(s, p, now, missing)
		}
	}
	return decidePhase(s, p, now)
}
