package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Leader makes the moves of the orchestrator that leads. Each is checked against
// its epoch.
type Leader struct{ c *store.Conn }

// OpenClaim opens the one bidding claim of an artefact, expecting a bid of each
// of the bidders. maxArtefacts bounds the workflow; 0 does not. The claim is
// returned when it was opened by this very call. ErrStale when the epoch is no
// longer the leader's.
func (b Leader) OpenClaim(ctx context.Context, epoch, artefactID string, bidders []string, maxArtefacts int) (blackboard.Opening, *blackboard.Claim, error) {
	if bidders == nil {
		bidders = []string{}
	}
	r, err := b.c.Do(ctx, "open", epoch, artefactID, blackboard.BiddingClaimID(artefactID), store.Encode(bidders), strconv.Itoa(maxArtefacts))
	if err != nil {
		return "", nil, fmt.Errorf("open claim on %s: %w", artefactID, err)
	}
	if r.Status == "refused" {
		return blackboard.Opening(r.Text(0)), nil, nil
	}
	if r.Status != "ok" || len(r.Rest) < 6 {
		return blackboard.Opened, nil, store.Refused(r)
	}
	version, _ := strconv.Atoi(r.Text(1))
	return blackboard.Opened, &blackboard.Claim{
		ID: blackboard.BiddingClaimID(artefactID), ArtefactID: artefactID, Status: blackboard.PendingReview,
		WorkflowID: r.Text(5), Origin: blackboard.OriginArtefact, ExpectedBidders: bidders,
		Target: blackboard.Target{LogicalID: r.Text(0), Version: version, Type: r.Text(2), Agent: r.Text(3), Role: r.Text(4)},
	}, nil
}

// RefuseClaim records that an artefact gets no claim, with the Failure that says
// why; the Failure is written once per workflow.
func (b Leader) RefuseClaim(ctx context.Context, epoch, artefactID, reason string, failure blackboard.Artefact) error {
	r, err := b.c.Do(ctx, "refuse", append([]string{epoch, artefactID, reason}, store.Arguments(failure)...)...)
	return store.Done(r, err, "refuse claim on %s", artefactID)
}

// SubmitBids submits bids in one round trip. The errors are one per bid, nil or
// wrapping ErrRefused; err is for the call as a whole.
func (b Cub) SubmitBids(ctx context.Context, bids []blackboard.BidRequest) (each []error, err error) {
	moves := make([]store.Move, len(bids))
	for i, q := range bids {
		args := []string{q.Claim, q.Agent, string(q.Bid), q.Reason, "", "", q.Rule, lineText(q.Line)}
		if q.Relies != nil {
			args[4], args[5] = q.Relies.Type, q.Relies.Agent
		}
		moves[i] = store.Move{Script: "bid", Args: args}
	}
	rs, err := b.c.DoAll(ctx, moves...)
	if err != nil {
		return nil, fmt.Errorf("submit bids: %w", err)
	}
	each = make([]error, len(bids))
	for i, r := range rs {
		each[i] = store.Done(r, nil, "bid %s on claim %s", bids[i].Bid, bids[i].Claim)
	}
	return each, nil
}

// Withhold records that an agent's bid waits because a call of its model is withheld; an empty kind: it waits for
// that no longer. ErrRefused: no bid of the agent is due.
func (b Cub) Withhold(ctx context.Context, claim, agent string, kind blackboard.WithheldKind, why string) error {
	r, err := b.c.Do(ctx, "withhold", claim, agent, string(kind), why)
	return store.Done(r, err, "wait with the bid on claim %s", claim)
}

func (b Leader) decide(ctx context.Context, g blackboard.Guard, kind string, details any, artefact *blackboard.Artefact) error {
	args := []string{g.Epoch, g.Claim, strconv.FormatInt(g.Revision, 10), store.Encode(details), formatBids(g.Bids)}
	if artefact != nil {
		args = append(args, store.Arguments(*artefact)[1:]...)
	} else {
		args = append(args, "", "", "")
	}
	r, err := b.c.Do(ctx, kind, args...)
	if err == nil && r.Status == "stale" && r.Text(0) == "leader" {
		err = fmt.Errorf("%w: %w", blackboard.ErrNotLeader, blackboard.ErrStale)
	}
	return store.Done(r, err, "%s claim %s", kind, g.Claim)
}

// formatBids writes bids as the scripts compare them.
func formatBids(bids []blackboard.Bid) string {
	parts := make([]string, len(bids))
	for i, b := range bids {
		parts[i] = b.Agent + "=" + string(b.Type)
	}
	return strings.Join(parts, " ")
}

// RecordIgnores turns the silence of agents into ignore bids.
func (b Leader) RecordIgnores(ctx context.Context, g blackboard.Guard, agents []string, reason string) error {
	return b.decide(ctx, g, "ignore", map[string]any{"agents": agents, "reason": reason}, nil)
}

// GrantPhase moves the claim to a phase and queues a grant for each agent.
func (b Leader) GrantPhase(ctx context.Context, g blackboard.Guard, phase blackboard.Phase, agents []string) error {
	d := map[string]any{"phase": phase, "status": phase.Status(), "agents": agents}
	switch phase {
	case blackboard.PhaseReview:
		d["field"], d["granted"] = "granted_review_agents", store.Encode(agents)
	case blackboard.PhaseParallel:
		d["field"], d["granted"] = "granted_parallel_agents", store.Encode(agents)
	default:
		d["field"], d["granted"] = "granted_exclusive_agent", agents[0]
	}
	return b.decide(ctx, g, "grant", d, nil)
}

// CompleteClaim closes the claim as done.
func (b Leader) CompleteClaim(ctx context.Context, g blackboard.Guard, reason string) error {
	return b.decide(ctx, g, "complete", map[string]any{"reason": reason}, nil)
}

// TerminateClaim closes the claim as failed, cancels its open grants,
// and, in the same move, writes a Failure or opens a rework where given, never
// both.
func (b Leader) TerminateClaim(ctx context.Context, g blackboard.Guard, reason string, failure *blackboard.Artefact, rework *blackboard.Rework) error {
	d := map[string]any{"reason": reason}
	written := failure // the one artefact that the script takes
	if failure != nil {
		d["failure"] = store.PutOf(*failure)
	}
	if rework != nil {
		if rework.Question != nil {
			written = rework.Question
		}
		d["rework"] = reworkDetails(rework)
	}
	return b.decide(ctx, g, "terminate", d, written)
}
