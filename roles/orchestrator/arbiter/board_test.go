package arbiter

import (
	"fmt"
	"slices"
	"time"

	"sett/blackboard"
)

// board is a blackboard with one claim on it, for the scenarios: what the scripts
// do to a snapshot, with ids, attempts and revisions.
type board struct {
	s     blackboard.Snapshot
	p     Policy
	now   time.Time
	stale int64 // the revision that decisions pretend to be taken on; 0: the present one
}

// errRefused is what a script answers to a move that does not fit.
func errRefused(format string, args ...any) error {
	return fmt.Errorf("refused: "+format, args...)
}

func (b *board) changed() { b.s.Claim.Revision++ }

// bid is bid.lua.
func (b *board) bid(agent string, bid blackboard.BidType) error {
	switch {
	case b.s.Claim.Status != blackboard.PendingReview:
		return errRefused("the claim is %s", b.s.Claim.Status)
	case b.s.HasBid(agent):
		return errRefused("%s has bid", agent)
	case !slices.Contains(b.s.Claim.ExpectedBidders, agent):
		return errRefused("the claim does not expect a bid of %s", agent)
	}
	b.s.Bids = append(b.s.Bids, blackboard.Bid{Agent: agent, Type: bid})
	b.changed()
	return nil
}

// grant returns the agent's grant, if it is in one of these states.
func (b *board) grant(agent string, states ...blackboard.GrantState) (*blackboard.Grant, error) {
	for i := range b.s.Grants {
		g := &b.s.Grants[i]
		if g.Agent == agent && !slices.Contains(states, g.State) {
			return nil, errRefused("the grant is %s", g.State)
		}
		if g.Agent == agent {
			b.changed()
			return g, nil
		}
	}
	return nil, errRefused("no such grant")
}

// start is start.lua.
func (b *board) start(agent string) error {
	g, err := b.grant(agent, blackboard.GrantQueued)
	if err == nil {
		g.State, g.Holder, g.StartedAt = blackboard.GrantRunning, "holder", b.now
	}
	return err
}

// finish is finish.lua. An empty verdict is that of anything but a Review.
func (b *board) finish(agent string, result blackboard.StructuralType, verdict blackboard.Verdict) error {
	g, err := b.grant(agent, blackboard.GrantRunning)
	if err != nil {
		return err
	}
	g.ResultID, g.Verdict, g.EndedAt = fmt.Sprintf("%s-%s-%d", result, agent, g.Attempt), verdict, b.now
	switch result {
	case blackboard.Question:
		g.State = blackboard.GrantAwaitingAnswer
	case blackboard.Failure:
		g.State = blackboard.GrantFailed
	default:
		g.State = blackboard.GrantDone
	}
	return nil
}

// requeue is answer.lua, requeue.lua and crash.lua with a retry: the grant is run
// again.
func (b *board) requeue(agent string, from ...blackboard.GrantState) error {
	g, err := b.grant(agent, from...)
	if err == nil {
		g.State, g.Holder, g.ResultID, g.QueuedAt, g.EndedAt = blackboard.GrantQueued, "", "", b.now, time.Time{}
		g.Attempt++
	}
	return err
}

// crash is crash.lua without a retry.
func (b *board) crash(agent, reason string) error {
	g, err := b.grant(agent, blackboard.GrantQueued, blackboard.GrantRunning, blackboard.GrantAwaitingAnswer)
	if err == nil {
		g.State, g.Reason, g.ResultID, g.EndedAt = blackboard.GrantFailed, reason, "Failure-"+agent, b.now
	}
	return err
}

// apply is decide.lua, and crash.lua for FailGrant.
func (b *board) apply(d Decision) error {
	c := &b.s.Claim
	if d.Kind == FailGrant {
		return b.crash(d.Agents[0], d.Reason)
	}
	if b.stale != 0 && b.stale != c.Revision {
		return fmt.Errorf("stale: decided on revision %d, the claim's is %d", b.stale, c.Revision)
	}
	b.changed()
	switch d.Kind {
	case RecordIgnores:
		for _, agent := range d.Agents {
			b.s.Bids = append(b.s.Bids, blackboard.Bid{Agent: agent, Type: blackboard.BidIgnore})
		}
	case GrantPhase:
		c.Status = d.Phase.Status()
		switch d.Phase {
		case blackboard.PhaseReview:
			c.GrantedReviewAgents = d.Agents
		case blackboard.PhaseParallel:
			c.GrantedParallelAgents = d.Agents
		default:
			c.GrantedExclusiveAgent = d.Agents[0]
		}
		for _, agent := range d.Agents {
			b.put(blackboard.Grant{Agent: agent, Phase: d.Phase, Attempt: 1, State: blackboard.GrantQueued, QueuedAt: b.now})
		}
	case Complete:
		c.Status, c.Reason = blackboard.Complete, d.Reason
	case Terminate:
		c.Status, c.Reason = blackboard.Terminated, d.Reason
		for i := range b.s.Grants {
			if g := &b.s.Grants[i]; !g.State.Ended() {
				g.State, g.EndedAt = blackboard.GrantCancelled, b.now
			}
		}
	}
	return nil
}

// put adds or replaces a grant, keeping them sorted by agent.
func (b *board) put(g blackboard.Grant) {
	b.s.Grants = slices.DeleteFunc(b.s.Grants, func(old blackboard.Grant) bool { return old.Agent == g.Agent })
	at, _ := slices.BinarySearchFunc(b.s.Grants, g.Agent, func(g blackboard.Grant, agent string) int {
		if g.Agent < agent {
			return -1
		}
		return 1
	})
	b.s.Grants = slices.Insert(b.s.Grants, at, g)
}
