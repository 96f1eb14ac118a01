package boardtest

import (
	"errors"
	"slices"
	"time"

	"sett/blackboard"
)

// Goal posts a goal and returns its id, which is also that of its workflow.
func (b *Board) Goal(text string) string {
	b.Helper()
	id := b.NewID()
	b.Must(b.Moves.People.PostGoal(b.Ctx, blackboard.Artefact{ID: id, StructuralType: blackboard.Standard,
		Type: blackboard.TypeGoalDefined, Payload: text, ProducedByRole: blackboard.RoleUser, WorkflowID: id}, "ann"))
	return id
}

// Open opens the claim on an artefact for the bids of agents, and returns its id.
func (b *Board) Open(artefact string, bidders ...string) (claim string) {
	b.Helper()
	o, _, err := b.Moves.Leader.OpenClaim(b.Ctx, b.Epoch, artefact, bidders, 0)
	b.Must(err)
	if o != blackboard.Opened {
		b.Fatalf("open the claim on %s: %s", artefact, o)
	}
	return blackboard.BiddingClaimID(artefact)
}

// Bid submits bids, each with its agent and type. The claim need not be given in
// each.
func (b *Board) Bid(claim string, bids ...blackboard.BidRequest) {
	b.Helper()
	for i := range bids {
		bids[i].Claim = claim
	}
	if len(bids) == 0 {
		return
	}
	each, err := b.Moves.Cub.SubmitBids(b.Ctx, bids)
	b.Must(errors.Join(append(each, err)...))
}

// Snapshot returns a claim as it is.
func (b *Board) Snapshot(claim string) blackboard.Snapshot {
	b.Helper()
	s, err := b.Moves.Records.Snapshot(b.Ctx, claim)
	b.Must(err)
	return s
}

// Artefact returns an artefact.
func (b *Board) Artefact(id string) blackboard.Artefact {
	b.Helper()
	a, err := b.Moves.Records.Artefact(b.Ctx, id)
	b.Must(err)
	return a
}

// Guard returns the guard of a decision on the claim as it is.
func (b *Board) Guard(claim string) blackboard.Guard {
	b.Helper()
	return blackboard.Guard{Epoch: b.Epoch, Claim: claim, Revision: b.Snapshot(claim).Claim.Revision}
}

// Decide makes a decision on a claim, again while agents change the claim at the
// same time.
func (b *Board) Decide(claim string, move func(blackboard.Guard) error) {
	b.Helper()
	b.Until("a claim that nobody changes", func() bool {
		err := move(b.Guard(claim))
		if !errors.Is(err, blackboard.ErrStale) {
			b.Must(err)
		}
		return err == nil
	})
}

// Grant grants a claim to agents.
func (b *Board) Grant(claim string, phase blackboard.Phase, agents ...string) {
	b.Helper()
	b.Decide(claim, func(g blackboard.Guard) error { return b.Moves.Leader.GrantPhase(b.Ctx, g, phase, agents) })
}

// Granted posts a goal and grants its claim to an agent.
func (b *Board) Granted(text, agent string) (claim string) {
	b.Helper()
	claim = b.Open(b.Goal(text), agent)
	b.Grant(claim, blackboard.PhaseExclusive, agent)
	return claim
}

// Begin starts an agent's grant under the name of a holder.
func (b *Board) Begin(claim, agent, holder string) blackboard.Started {
	b.Helper()
	st, err := b.Moves.Cub.Start(b.Ctx, blackboard.StartRequest{Claim: claim, Agent: agent, Holder: holder})
	b.Must(err)
	return st
}

// Finish ends an agent's running grant with an artefact and returns the
// artefact's id. Empty fields of the artefact that follow from the claim are filled.
func (b *Board) Finish(claim, agent string, a blackboard.Artefact) string {
	b.Helper()
	s := b.Snapshot(claim)
	g, _ := s.Grant(agent)
	if a.ID == "" {
		a.ID = b.NewID()
	}
	if a.ProducedByRole == "" {
		a.ProducedByRole = agent
	}
	a.ClaimID, a.WorkflowID, a.ProducedByAgent = claim, s.Claim.WorkflowID, agent
	a.SourceArtefacts = append([]string{s.Claim.ArtefactID}, a.SourceArtefacts...)
	r := blackboard.Result{GrantRef: blackboard.GrantRef{Claim: claim, Agent: agent, Attempt: g.Attempt, Holder: g.Holder}, Artefact: a,
		ToolTime: 1500 * time.Millisecond}
	if a.StructuralType == blackboard.Review {
		r.Verdict = blackboard.VerdictOf(a.Payload)
	}
	b.Must(b.Moves.Cub.Finish(b.Ctx, r))
	return a.ID
}

// Complete completes a claim.
func (b *Board) Complete(claim string) {
	b.Helper()
	b.Decide(claim, func(g blackboard.Guard) error { return b.Moves.Leader.CompleteClaim(b.Ctx, g, "") })
}

// AwaitGrant waits until an agent's grant is in one of the states.
func (b *Board) AwaitGrant(claim, agent string, states ...blackboard.GrantState) blackboard.Grant {
	b.Helper()
	var g blackboard.Grant
	b.Until("the grant of "+agent, func() bool {
		var err error
		g, err = b.Moves.Records.Grant(b.Ctx, claim, agent)
		return err == nil && slices.Contains(states, g.State)
	})
	return g
}

// Events returns the ledger's entries of one kind.
func (b *Board) Events(kind blackboard.EventKind) []blackboard.Event {
	b.Helper()
	all, err := b.Moves.Ledger.History(b.Ctx, blackboard.Beginning, 10_000)
	b.Must(err)
	return slices.DeleteFunc(all, func(e blackboard.Event) bool { return e.Kind != kind })
}
