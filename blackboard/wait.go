package blackboard

import (
	"cmp"
	"slices"
	"time"
)

// WaitKind is a kind of wait. The names are part of the interface.
type WaitKind string

// The kinds of waits, each named for the event that ends it.
const (
	WaitClaim      WaitKind = "claim"      // the orchestrator opens a claim on an artefact
	WaitBid        WaitKind = "bid"        // an agent bids
	WaitDecision   WaitKind = "decision"   // the orchestrator grants, completes or terminates
	WaitStart      WaitKind = "start"      // an agent takes up its grant
	WaitSlot       WaitKind = "slot"       // one of an agent's workers, or of its slots, is free
	WaitRepository WaitKind = "repository" // the repository prepares a tree, or takes a commit
	WaitModel      WaitKind = "model"      // a person lets calls of models go on: an agent's tool has not begun
	WaitResult     WaitKind = "result"     // an agent's tool ends
	WaitBlackboard WaitKind = "blackboard" // the blackboard takes the result of an agent's tool, which has ended
	WaitAnswer     WaitKind = "answer"     // a person answers a question
	WaitApproval   WaitKind = "approval"   // a person approves or rejects an artefact
	WaitLanding    WaitKind = "landing"    // a goal's result reaches its branch
	WaitConflict   WaitKind = "conflict"   // commits that do not merge are settled by other work
)

// ByPerson says whether only a person ends such a wait.
func (k WaitKind) ByPerson() bool { return k == WaitAnswer || k == WaitApproval || k == WaitModel }

// Wait is one event that open work waits for. Fields that its kind does not mention
// are zero.
type Wait struct {
	Kind       WaitKind
	Agent      string // has the next move, or has the grant or artefact that waits; RoleOrchestrator for claim and decision
	Since      time.Time
	Until      time.Time // bid, answer: the orchestrator ends the wait then; zero: never
	SubjectID  string    // the claim or artefact that waits; answer: the Question; conflict: the Conflict
	WorkflowID string

	Attempt int           // start, repository, model, result, blackboard: of the grant
	Holder  string        // repository, model, result, blackboard: the incarnation that runs the grant
	Why     string        // bid, repository, model, blackboard: the hindrance; empty: none is known
	Limit   time.Duration // result: the agent's timeout; 0: unknown or none
	Workers int           // start, slot, repository, model, result, blackboard: as in AgentPolicy
	Slots   int           // slot: as in AgentPolicy; 0: it waits for a worker
	Busy    []string      // start, slot: the claims that the agent works on
}

// LandingWait is the wait of a goal whose result is about to land. Its subject is the
// goal, or the artefact that agents verify first.
func LandingWait(w Workflow) Wait {
	wait := Wait{Kind: WaitLanding, Agent: RoleRepository, SubjectID: w.ID, WorkflowID: w.ID}
	if l := w.Landing; l != nil {
		wait.Since = l.Since
		if l.State == LandingVerifying {
			wait.SubjectID = l.Verification
		}
	}
	return wait
}

// Policy is the part of sett.yml that waits depend on.
type Policy struct {
	Agents          map[string]AgentPolicy // by name; nil: unknown
	BidTimeout      time.Duration          // after which silence is an ignore; 0: wait for ever
	QuestionTimeout time.Duration          // after which a question nobody answered is a Failure; 0: wait for ever
}

// AgentPolicy is the part of an agent's settings that waits depend on.
type AgentPolicy struct {
	Workers int           // at most so many, a fresh one for each grant; 0: one process takes all grants
	Slots   int           // without Workers: the grants that the process runs at once; 0: one
	Timeout time.Duration // of one run of its tool; 0: none

	BidsRequired bool // its silence never becomes an ignore
}

// Scene is one moment of the instance.
type Scene struct {
	Now     time.Time // by the blackboard's clock
	Running []Running // all running grants
}

// Waits returns the events that a claim waits for, by its grants' order; none when
// it is closed. An open claim always waits for something: a claim that waits for no
// bid, grant or person waits for the orchestrator's decision.
func Waits(s Snapshot, p Policy, at Scene) []Wait {
	if s.Claim.Status.Closed() {
		return nil
	}
	failed := slices.ContainsFunc(s.Grants, func(g Grant) bool { return g.State == GrantFailed })
	if !failed { // the orchestrator acts on a failure at once
		if waits := slices.Concat(bidWaits(s, p, at), grantWaits(s, p, at)); len(waits) > 0 {
			return waits
		}
	}
	last := s.Claim.OpenedAt
	for _, g := range s.Grants {
		if g.EndedAt.After(last) {
			last = g.EndedAt
		}
	}
	return []Wait{{Kind: WaitDecision, Agent: RoleOrchestrator, Since: last, SubjectID: s.Claim.ID, WorkflowID: s.Claim.WorkflowID}}
}

// bidWaits are the waits of a claim that collects bids. A silence that is over, or
// of an agent that left the clan, is the orchestrator's to act on.
func bidWaits(s Snapshot, p Policy, at Scene) (all []Wait) {
	until := after(s.Claim.OpenedAt, p.BidTimeout)
	if s.Claim.Status != PendingReview || slices.ContainsFunc(s.Grants, Grant.OfAgent) {
		return nil
	}
	for _, agent := range s.Missing() {
		w := Wait{Kind: WaitBid, Agent: agent, Since: s.Claim.OpenedAt, Until: until, SubjectID: s.Claim.ID, WorkflowID: s.Claim.WorkflowID}
		is, known := p.Agents[agent]
		withheld, waits := s.Claim.Withheld[agent]
		if waits {
			w.Why, w.Since = withheld.Why, withheld.Since
		}
		if is.BidsRequired || waits {
			w.Until = time.Time{}
		}
		if at.over(w.Until) {
			return nil
		}
		if known || p.Agents == nil {
			all = append(all, w)
		}
	}
	return all
}

// grantWaits are the waits for the grants of a claim that have not ended.
func grantWaits(s Snapshot, p Policy, at Scene) []Wait {
	var waits []Wait
	for _, g := range s.Grants {
		agent := p.Agents[g.Agent]
		w := Wait{Agent: g.Agent, Since: g.QueuedAt, SubjectID: s.Claim.ID, WorkflowID: s.Claim.WorkflowID}
		switch g.State {
		case GrantQueued:
			w.Attempt, w.Workers = g.Attempt, agent.Workers
			if w.queued(at, agent.Slots); g.Waiting() {
				w.Kind, w.SubjectID, w.Busy = WaitConflict, g.Conflict, nil
			}
		case GrantRunning:
			w.Kind, w.Attempt, w.Workers, w.Limit, w.Holder = WaitResult, g.Attempt, agent.Workers, agent.Timeout, g.Holder
			w.Since = firstKnown(g.StartedAt, g.QueuedAt).Add(g.Waited)
			if !g.WaitsSince.IsZero() {
				w.Kind, w.Since, w.Limit, w.Why = cmp.Or(WaitKind(g.WaitsFor), WaitRepository), g.WaitsSince, 0, g.WaitsWhy
			}
		case GrantAwaitingAnswer:
			w.Kind, w.SubjectID, w.Since = WaitAnswer, g.ResultID, firstKnown(g.EndedAt, g.QueuedAt)
			if w.Until = after(w.Since, p.QuestionTimeout); at.over(w.Until) {
				continue
			}
		default:
			continue
		}
		waits = append(waits, w)
	}
	return waits
}

// queued finds the cause that keeps a queued grant from being started: the agent's
// workers, or the grants that fill its slots, or nothing but the start itself.
func (w *Wait) queued(at Scene, slots int) {
	for _, r := range at.Running {
		if r.Agent == w.Agent {
			w.Busy = append(w.Busy, r.Claim)
		}
	}
	w.Kind = WaitStart
	switch {
	case w.Workers > 0 && len(w.Busy) >= w.Workers:
		w.Kind = WaitSlot
	case w.Workers == 0 && slots > 1 && len(w.Busy) >= slots:
		w.Kind, w.Slots = WaitSlot, slots
	case w.Workers == 0 && slots > 1: // it takes this one beside them
		w.Busy = nil
	}
}

// over says whether a bound on a wait is reached: from then on the orchestrator
// acts.
func (at Scene) over(until time.Time) bool { return !until.IsZero() && !at.Now.Before(until) }

// after returns the end of a bounded wait; zero: it has none.
func after(since time.Time, bound time.Duration) time.Time {
	if bound <= 0 || since.IsZero() {
		return time.Time{}
	}
	return since.Add(bound)
}

// firstKnown returns the first time that is not zero.
func firstKnown(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}
