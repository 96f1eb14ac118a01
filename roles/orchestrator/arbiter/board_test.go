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

	rework   *Rework // what the claim ended with
	failures int     // of the claim
}

// askedFirst is what a person is asked before a rework.
const askedFirst = "Question"

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
		b.failures++
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
		if g.State == blackboard.GrantAwaitingAnswer && g.ResultID == askedFirst {
			g.Asked = []string{askedFirst, "Answer"}
		}
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
		b.failures++
	}
	return err
}

// review is review.lua: a person reviews beside the agents.
func (b *board) review(person string, verdict blackboard.Verdict) error {
	agent := blackboard.HumanAgent(person)
	if b.s.Claim.Status != blackboard.PendingReview {
		return errRefused("it is not in review any more, its claim is %s", b.s.Claim.Status)
	}
	if g, ok := b.s.Grant(agent); ok {
		return errRefused("you have reviewed it: %s", g.Verdict)
	}
	b.put(blackboard.Grant{Agent: agent, Phase: blackboard.PhaseReview, Attempt: 1, State: blackboard.GrantDone, Verdict: verdict,
		ResultID: "Review-" + person, QueuedAt: b.now, EndedAt: b.now})
	b.changed()
	return nil
}

// cancel is cancel.lua: a person ends the claim.
func (b *board) cancel() error {
	if b.s.Claim.Status.Closed() {
		return errRefused("it is %s", b.s.Claim.Status)
	}
	if slices.ContainsFunc(b.s.Grants, func(g blackboard.Grant) bool {
		return g.Phase == blackboard.PhaseExclusive && g.State == blackboard.GrantDone
	}) {
		return errRefused("its work is done; the orchestrator completes it")
	}
	b.failures++
	b.terminate("cancelled")
	b.changed()
	return nil
}

// again is retry.lua: from here on the claim is the one that tries the failed one
// again.
func (b *board) again() error {
	c := &b.s.Claim
	if c.Status != blackboard.Terminated {
		return errRefused("it has not failed, it is %s", c.Status)
	}
	last, feedback, undone := 0, false, false
	for _, g := range b.s.Grants {
		feedback = feedback || g.Phase == blackboard.PhaseReview && g.State == blackboard.GrantDone && g.Verdict != blackboard.Approve
		undone = undone || g.State != blackboard.GrantDone
		last = max(last, slices.Index(blackboard.Phases, g.Phase))
	}
	switch {
	case b.rework != nil:
		return errRefused("it ended with feedback, for which there is a rework")
	case feedback && !undone && c.Target.Agent == "":
		return errRefused("it ended with feedback, and nobody can rework what a person made")
	case b.failures == 0:
		return errRefused("nothing of it failed")
	}
	c.Status, c.Rework, c.Origin = blackboard.Phases[last].Status(), c.Rework || c.Origin == blackboard.OriginRework, blackboard.OriginRetry
	c.Reason, c.Revision, c.OpenedAt = "", 1, b.now
	for i, g := range b.s.Grants {
		if g.State == blackboard.GrantDone {
			continue
		}
		anew := blackboard.Grant{Agent: g.Agent, Phase: g.Phase, Attempt: 1, State: blackboard.GrantQueued, QueuedAt: b.now, Asked: g.Asked}
		if slices.Equal(g.Asked, []string{askedFirst}) {
			anew.State, anew.ResultID, anew.EndedAt = blackboard.GrantAwaitingAnswer, askedFirst, b.now
		}
		b.s.Grants[i] = anew
	}
	b.failures, b.rework = 0, nil
	return nil
}

// terminate ends the claim and what is left of its grants.
func (b *board) terminate(reason string) {
	b.s.Claim.Status, b.s.Claim.Reason = blackboard.Terminated, reason
	for i := range b.s.Grants {
		if g := &b.s.Grants[i]; !g.State.Ended() {
			g.State, g.EndedAt = blackboard.GrantCancelled, b.now
		}
	}
}

// openRework is the part of terminate.lua that opens the claim which follows.
func (b *board) openRework() error {
	r, c := b.rework, b.s.Claim
	if r == nil {
		return errRefused("there is none")
	}
	g := blackboard.Grant{Agent: r.Agent, Phase: blackboard.PhaseExclusive, Attempt: 1, State: blackboard.GrantQueued, QueuedAt: b.now}
	if r.Ask != "" {
		g.State, g.ResultID, g.EndedAt, g.Asked = blackboard.GrantAwaitingAnswer, askedFirst, b.now, []string{askedFirst}
	}
	b.s = blackboard.Snapshot{Grants: []blackboard.Grant{g}, Claim: blackboard.Claim{
		ID: "rework", ArtefactID: c.ArtefactID, Status: blackboard.PendingExclusive, Origin: blackboard.OriginRework, Rework: true,
		GrantedExclusiveAgent: r.Agent, AdditionalContextIDs: r.Context, Revision: 1, OpenedAt: b.now, Target: c.Target,
	}}
	b.failures, b.rework = 0, nil
	return nil
}

// apply is what the scripts of decisions do, and crash.lua for FailGrant.
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
		if d.FailureType != "" {
			b.failures++
		}
		b.rework = d.Rework
		b.terminate(d.Reason)
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
