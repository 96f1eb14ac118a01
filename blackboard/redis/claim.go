package redis

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"sett/blackboard"
)

// Opening is what became of OpenClaim.
type Opening string

// The outcomes of OpenClaim.
const (
	Opened       Opening = "opened"        // now or before
	NotClaimable Opening = "not_claimable" // no such artefact, or one that gets no claim
	OverLimit    Opening = "limit"         // its workflow has too many artefacts: refuse it
)

// OpenClaim opens the one bidding claim of an artefact, expecting a bid of each
// of the bidders. maxArtefacts bounds the workflow; 0 does not. The claim is
// returned when it was opened by this very call. ErrStale when the epoch is no
// longer the leader's.
func (b *Board) OpenClaim(ctx context.Context, epoch, artefactID string, bidders []string, maxArtefacts int) (Opening, *blackboard.Claim, error) {
	if bidders == nil {
		bidders = []string{}
	}
	r, err := b.do(ctx, "open", epoch, artefactID, blackboard.BiddingClaimID(artefactID), encode(bidders), strconv.Itoa(maxArtefacts))
	if err != nil {
		return "", nil, fmt.Errorf("open claim on %s: %w", artefactID, err)
	}
	if r.status == "refused" {
		return Opening(r.text(0)), nil, nil
	}
	if r.status != "ok" || len(r.rest) < 6 {
		return Opened, nil, refused(r)
	}
	version, _ := strconv.Atoi(r.text(1))
	return Opened, &blackboard.Claim{
		ID: blackboard.BiddingClaimID(artefactID), ArtefactID: artefactID, Status: blackboard.PendingReview,
		WorkflowID: r.text(5), Origin: blackboard.OriginArtefact, ExpectedBidders: bidders,
		Target: blackboard.Target{LogicalID: r.text(0), Version: version, Type: r.text(2), Agent: r.text(3), Role: r.text(4)},
	}, nil
}

// RefuseClaim records that an artefact gets no claim, with the Failure that says
// why; the Failure is written once per workflow.
func (b *Board) RefuseClaim(ctx context.Context, epoch, artefactID, reason string, failure blackboard.Artefact) error {
	r, err := b.do(ctx, "refuse", append([]string{epoch, artefactID, reason}, artefactArgs(failure)...)...)
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("refuse claim on %s: %w", artefactID, err)
	}
	return nil
}

// BidRequest is one bid to submit.
type BidRequest struct {
	Claim, Agent string
	Bid          blackboard.BidType
	Reason       string // why, when it is not simply the rule; for the ledger
	// Relies is what the bid takes for granted about the claim's target, from a
	// notice; nil when the claim was read. When it is not so: ErrStale.
	Relies *blackboard.Target
}

// SubmitBids submits bids in one round trip. The errors are one per bid, nil or
// wrapping ErrRefused; err is for the call as a whole.
func (b *Board) SubmitBids(ctx context.Context, bids []BidRequest) (each []error, err error) {
	moves := make([]move, len(bids))
	for i, q := range bids {
		args := []string{q.Claim, q.Agent, string(q.Bid), q.Reason, "", ""}
		if q.Relies != nil {
			args[4], args[5] = q.Relies.Type, q.Relies.Agent
		}
		moves[i] = move{"bid", args}
	}
	rs, err := b.doAll(ctx, moves...)
	if err != nil {
		return nil, fmt.Errorf("submit bids: %w", err)
	}
	each = make([]error, len(bids))
	for i, r := range rs {
		if e := refused(r); e != nil {
			each[i] = fmt.Errorf("bid %s on claim %s: %w", bids[i].Bid, bids[i].Claim, e)
		}
	}
	return each, nil
}

// Guard is what every decision is checked against: the lead it was taken under
// and the claim's revision it was taken on.
type Guard struct {
	Epoch    string
	Claim    string
	Revision int64
	// Bids is what the decision takes for granted about the bids, from a notice;
	// nil when the claim was read.
	Bids []blackboard.Bid
}

func (b *Board) decide(ctx context.Context, g Guard, kind string, details any, artefact *blackboard.Artefact) error {
	args := []string{g.Epoch, g.Claim, strconv.FormatInt(g.Revision, 10), encode(details), formatBids(g.Bids)}
	if artefact != nil {
		args = append(args, artefactArgs(*artefact)[1:]...)
	} else {
		args = append(args, "", "", "")
	}
	r, err := b.do(ctx, kind, args...)
	if err == nil && r.status == "stale" && r.text(0) == "leader" {
		err = fmt.Errorf("%w: %w", ErrNotLeader, blackboard.ErrStale)
	} else if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("%s claim %s: %w", kind, g.Claim, err)
	}
	return nil
}

// formatBids writes bids as the scripts compare them.
func formatBids(bids []blackboard.Bid) string {
	parts := make([]string, len(bids))
	for i, b := range bids {
		parts[i] = b.Agent + "=" + string(b.Type)
	}
	return strings.Join(parts, " ")
}

// ErrNotLeader means that somebody else leads now. It comes with ErrStale.
var ErrNotLeader = errors.New("no longer the leader")

// RecordIgnores turns the silence of agents into ignore bids.
func (b *Board) RecordIgnores(ctx context.Context, g Guard, agents []string, reason string) error {
	return b.decide(ctx, g, "ignore", map[string]any{"agents": agents, "reason": reason}, nil)
}

// GrantPhase moves the claim to a phase and queues a grant for each agent.
func (b *Board) GrantPhase(ctx context.Context, g Guard, phase blackboard.Phase, agents []string) error {
	d := map[string]any{"phase": phase, "status": phase.Status(), "agents": agents}
	switch phase {
	case blackboard.PhaseReview:
		d["field"], d["granted"] = "granted_review_agents", encode(agents)
	case blackboard.PhaseParallel:
		d["field"], d["granted"] = "granted_parallel_agents", encode(agents)
	default:
		d["field"], d["granted"] = "granted_exclusive_agent", agents[0]
	}
	return b.decide(ctx, g, "grant", d, nil)
}

// CompleteClaim closes the claim as done.
func (b *Board) CompleteClaim(ctx context.Context, g Guard, reason string) error {
	return b.decide(ctx, g, "complete", map[string]any{"reason": reason}, nil)
}

// Rework is the claim that follows feedback: on the same artefact, for the agent
// that made it.
type Rework struct {
	ClaimID string
	Agent   string
	Context []string // the Reviews with feedback
	// What a person is to be asked first; nil: nothing.
	Question *blackboard.Artefact
}

// TerminateClaim closes the claim as failed, cancels what is left of its grants,
// and, in the same move, writes a Failure or opens a rework where given, never
// both.
func (b *Board) TerminateClaim(ctx context.Context, g Guard, reason string, failure *blackboard.Artefact, rework *Rework) error {
	d := map[string]any{"reason": reason}
	written := failure // the one artefact that the script takes
	if failure != nil {
		d["failure"] = putOf(*failure)
	}
	if rework != nil {
		r := map[string]any{"id": rework.ClaimID, "agent": rework.Agent, "context": encode(append([]string{}, rework.Context...))} // [] for none, not null
		if rework.Question != nil {
			r["question"] = putOf(*rework.Question)
			written = rework.Question
		}
		d["rework"] = r
	}
	return b.decide(ctx, g, "terminate", d, written)
}
