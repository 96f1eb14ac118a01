// Package arbiter is a claim's life as a pure function: from a snapshot of the
// claim, the policy of sett.yml and the time to the next decision. It is where
// the rules of bidding, of the three phases, of rework and of failure stand, and
// the only place.
//
// It performs no I/O, reads no clock and remembers nothing. Whoever asks applies
// the answer in one move that is refused when the claim has changed since the
// snapshot was taken, and asks again: deciding twice is harmless. A grant is
// failed without that guard (its attempt and holder are checked instead), which
// is why FailGrant depends on nothing but the grant and the clan.
//
// A snapshot may be torn (its bids and grants younger than its claim) or
// corrupt. The function is total: it never panics, and following its decisions
// always comes to an end or to a wait with a name.
package arbiter

import (
	"time"

	"sett/blackboard"
)

// Policy is what sett.yml says about deciding, as it is now.
type Policy struct {
	Clan                []string      // the agents' names, in any order
	MaxReviewIterations int           // reworks of one thread; 0 and less: any number
	BidTimeout          time.Duration // after which silence is an ignore; 0: wait for ever
	QuestionTimeout     time.Duration // after which a question nobody answered is a Failure; 0: wait for ever
	AskAtReviewLimit    bool          // what happens at MaxReviewIterations: a person is asked; else a Failure
}

// Kind is what to do about a claim.
type Kind string

// The kinds of decisions.
const (
	Wait          Kind = "wait"           // nothing now
	RecordIgnores Kind = "record_ignores" // turn the silence of Agents into bids
	GrantPhase    Kind = "grant_phase"    // move to Phase and queue a grant for each of Agents
	FailGrant     Kind = "fail_grant"     // end the grant of Agents[0] with a Failure
	Complete      Kind = "complete"       // close the claim as done
	Terminate     Kind = "terminate"      // close it as failed or rejected, cancel what still runs
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

// ReasonUnwanted is why a claim is complete on which nobody was granted anything.
const ReasonUnwanted = "nobody wanted it"

// Decision is the answer. Fields that its kind does not mention are zero.
type Decision struct {
	Kind        Kind
	Agents      []string         // RecordIgnores, GrantPhase (in the order of their bids), FailGrant (one)
	Phase       blackboard.Phase // GrantPhase
	Reason      string           // for people, except the two of RecordIgnores
	FailureType string           // FailGrant, Terminate: the type of the Failure to write; empty: none
	Rework      *Rework          // Terminate: the claim to open in the same move
	Waits       []WaitFor        // Wait: what for; empty only when Closed
	Closed      bool             // Wait: the claim has ended, there will never be anything to decide
	AskAgain    time.Time        // Wait: ask again then; zero: only when something changes
}

// Rework names who has to make the artefact's next version, and why.
type Rework struct {
	Agent   string
	Context []string // ids of the Reviews with feedback, in the order of their grants
	Ask     string   // what to ask a person first; empty: nothing
}

// What is a kind of thing that a claim waits for.
type What string

// What there is to wait for.
const (
	ForBid    What = "bid"    // the agent's bid
	ForStart  What = "start"  // the agent takes the grant from its queue
	ForResult What = "result" // the agent's tool
	ForAnswer What = "answer" // a person's answer to the agent's question
)

// WaitFor is the name of one wait.
type WaitFor struct {
	What    What      `json:"what"`
	Agent   string    `json:"agent,omitempty"`
	Since   time.Time `json:"since"`
	Subject string    `json:"subject,omitempty"` // ForAnswer: the question's id
}

// Decide returns what to do about the claim now (DESIGN.md, section 4). It does
// not change or keep what it is given.
func Decide(s blackboard.Snapshot, p Policy, now time.Time) Decision {
	if s.Claim.Status.Closed() {
		return Decision{Kind: Wait, Closed: true}
	}
	if d, over := decideBroken(s); over {
		return d
	}
	if g, ok := orphan(s, p); ok {
		return Decision{
			Kind: FailGrant, Agents: []string{g.Agent}, FailureType: blackboard.TypeAgentRemoved,
			Reason: "agent " + g.Agent + " is no longer in sett.yml",
		}
	}
	if bidding(s) {
		if missing := unique(s.Missing()); len(missing) > 0 {
			return decideSilent(s, p, now, missing)
		}
	}
	return decidePhase(s, p, now)
}
