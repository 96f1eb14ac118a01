package redis

import (
	"context"
	"fmt"
	"strings"

	"sett/blackboard"
)

// What people do: decide about what waits for them, review, cancel, have tried
// again. Their artefacts are of the role human; `by` says for the ledger who it
// was. Nothing here needs the lead. Each move may be repeated with the same
// arguments; ErrRefused says why it is not possible (any more).

// Approve lets an artefact pass that waits for approval. The Review's payload is {}.
func (b *Board) Approve(ctx context.Context, artefactID string, review blackboard.Artefact, by string) error {
	review.ID = blackboard.GateReviewID(artefactID)
	review.LogicalID = review.ID
	return b.person(ctx, "approve "+artefactID, "approve", append(append([]string{artefactID}, artefactArgs(review)...), by)...)
}

// Reject turns down an artefact that waits for approval. It opens a claim on it
// in which the Review is the only one; the orchestrator has it reworked, as after
// any feedback. It returns that claim's id.
func (b *Board) Reject(ctx context.Context, artefactID string, review blackboard.Artefact, by string) (claimID string, err error) {
	claimID = blackboard.BiddingClaimID(artefactID)
	review.ID = blackboard.GateReviewID(artefactID)
	review.LogicalID, review.ClaimID = review.ID, claimID
	args := append([]string{artefactID, claimID, blackboard.HumanAgent(by)}, artefactArgs(review)...)
	return claimID, b.person(ctx, "reject "+artefactID, "reject", append(args, by)...)
}

// Review adds a person's Review to those of a claim that is in review. A person
// has one per claim. The claim is decided about when the agents have bid, and have
// reviewed.
func (b *Board) Review(ctx context.Context, claimID string, review blackboard.Artefact, by string) error {
	args := append([]string{claimID, blackboard.HumanAgent(by)}, artefactArgs(review)...)
	return b.person(ctx, "review in claim "+claimID, "review", append(args, string(blackboard.VerdictOf(review.Payload)), by)...)
}

// CancelClaim ends a claim with a Failure; what runs for it is stopped.
func (b *Board) CancelClaim(ctx context.Context, claimID string, failure blackboard.Artefact, by, why string) error {
	return b.person(ctx, "cancel claim "+claimID, "cancel", append(append([]string{claimID}, artefactArgs(failure)...), by, why)...)
}

// CancelWorkflow ends everything that is open of a goal, with a Failure that
// belongs to no claim. Nothing of it can be retried.
func (b *Board) CancelWorkflow(ctx context.Context, workflowID string, failure blackboard.Artefact, by, why string) error {
	return b.person(ctx, "cancel goal "+workflowID, "cancel_goal", append(append([]string{workflowID}, artefactArgs(failure)...), by, why)...)
}

// Retry opens a new claim for one that failed, which goes on where that one was:
// its bids and the grants that are done count, feedback among them unless there is a
// rework for it already. The workflow is active again.
// ErrStopping when the instance takes no new work.
func (b *Board) Retry(ctx context.Context, claimID, newClaimID, by, why string) error {
	return b.person(ctx, "retry claim "+claimID, "retry", claimID, newClaimID, by, why, blackboard.ReworkClaimID(claimID))
}

func (b *Board) person(ctx context.Context, what, script string, args ...string) error {
	r, err := b.do(ctx, script, args...)
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// SetApproval says which types of artefacts wait for approval from now on; '*' in
// a type stands for any characters. ErrStale when the epoch is no longer the
// leader's.
func (b *Board) SetApproval(ctx context.Context, epoch string, types []string) error {
	r, err := b.do(ctx, "policy", epoch, between(types), strings.Join(types, " "))
	if err == nil {
		err = refused(r)
	}
	if err != nil {
		return fmt.Errorf("set what waits for approval: %w", err)
	}
	return nil
}

// Approves says whether it is these types that wait for approval now.
func (b *Board) Approves(ctx context.Context, types []string) (bool, error) {
	now, err := b.instanceField(ctx, "approve")
	return orNone(now) == between(types), err
}

// orNone is what stands for no types where none have ever been set.
func orNone(types string) string {
	if types == "" {
		return "[]"
	}
	return types
}

// between returns types as the scripts take them: each as what stands between its
// wildcards.
func between(types []string) string {
	all := make([][]string, len(types)) // [] for none, not null
	for i, t := range types {
		all[i] = strings.Split(t, "*")
	}
	return encode(all)
}
