package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// People makes the moves of people.
type People struct{ c *store.Conn }

// People answer, approve, reject, review, cancel and retry. Their artefacts are of the
// role human; `by` names the person for the ledger. No move here needs the lead. Each
// may be repeated with the same arguments; ErrRefused has the reason of a refusal.

// Approve lets an artefact pass that waits for approval. The Review's payload is {}.
func (b People) Approve(ctx context.Context, artefactID string, review blackboard.Artefact, by string) error {
	review.ID = blackboard.GateReviewID(artefactID)
	review.LogicalID = review.ID
	return b.decide(ctx, "approve "+artefactID, artefactID, "approve", append(append([]string{artefactID}, store.Arguments(review)...), by)...)
}

// Reject turns down an artefact that waits for approval. It opens a claim on it
// in which the Review is the only one; the orchestrator has it reworked, as after
// any feedback. It returns that claim's id.
func (b People) Reject(ctx context.Context, artefactID string, review blackboard.Artefact, by string) (claimID string, err error) {
	claimID = blackboard.BiddingClaimID(artefactID)
	review.ID = blackboard.GateReviewID(artefactID)
	review.LogicalID, review.ClaimID = review.ID, claimID
	args := append([]string{artefactID, claimID, blackboard.HumanAgent(by)}, store.Arguments(review)...)
	return claimID, b.decide(ctx, "reject "+artefactID, artefactID, "reject", append(args, by)...)
}

// Review adds a person's Review to those of a claim that is in review. A person
// has one per claim. The claim is decided about when the agents have bid, and have
// reviewed.
func (b People) Review(ctx context.Context, claimID string, review blackboard.Artefact, by string) error {
	args := append([]string{claimID, blackboard.HumanAgent(by)}, store.Arguments(review)...)
	return b.decide(ctx, "review in claim "+claimID, claimID, "review", append(args, string(blackboard.VerdictOf(review.Payload)), by)...)
}

// CancelClaim ends a claim with a Failure; its running grants are stopped.
func (b People) CancelClaim(ctx context.Context, claimID string, failure blackboard.Artefact, by, why string) error {
	return b.decide(ctx, "cancel claim "+claimID, claimID, "cancel", append(append([]string{claimID}, store.Arguments(failure)...), by, why)...)
}

// CancelWorkflow ends everything that is open of a goal, with a Failure that
// belongs to no claim. Nothing of it can be retried.
func (b People) CancelWorkflow(ctx context.Context, workflowID string, failure blackboard.Artefact, by, why string) error {
	return b.decide(ctx, "cancel goal "+workflowID, workflowID, "cancel_goal", append(append([]string{workflowID}, store.Arguments(failure)...), by, why)...)
}

// Retry opens a new claim for one that failed, which goes on where that one was:
// its bids and the grants that are done count, feedback among them unless there is a
// rework for it already. The workflow is active again.
// ErrStopping when the instance takes no new work.
func (b People) Retry(ctx context.Context, claimID, newClaimID, by, why string) error {
	return b.decide(ctx, "retry claim "+claimID, claimID, "retry", claimID, newClaimID, by, why, blackboard.ReworkClaimID(claimID))
}

// RetryGoal has a goal go on after a Failure that belongs to no claim. After a WorkflowLimit its artefacts without
// a claim wait for one again, where maxArtefacts allows; else its result takes its turn to land anew. ErrStopping when
// the instance takes no new work.
func (b People) RetryGoal(ctx context.Context, q blackboard.GoalRetry, by, why string) error {
	how := "landing"
	if q.Type == blackboard.TypeWorkflowLimit {
		how = "limit"
	}
	return b.decide(ctx, "retry goal "+q.Workflow, q.Workflow, "retry_goal", q.Workflow, q.Failure, q.Word, by, why, how, strconv.Itoa(q.MaxArtefacts))
}

// decide is person for a move with a reply that says nothing more.
func (b People) decide(ctx context.Context, what, id, script string, args ...string) error {
	_, err := b.person(ctx, what, id, script, args...)
	return err
}

// insist is how long a person's move is repeated, in the same words, once its answer was lost: nobody else would
// repeat it without asking for the same thing again.
const insist = 10 * time.Second

// insistMade is how long, once it was made without the word of all replicas: one that stands still is counted out then.
const insistMade = store.MayTakeOver + time.Second

// person makes a person's move. The id is that of the record that shows whether it was made.
func (b People) person(ctx context.Context, what, id, script string, args ...string) (store.Reply, error) {
	var unsure *blackboard.UnsureError
	made := false
	for began := time.Now(); ; {
		r, err := b.c.Do(ctx, script, args...)
		if errors.As(err, &unsure); unsure != nil && errors.Is(err, blackboard.ErrUnavailable) {
			limit := insist
			if made = made || unsure.Made; made {
				limit = insistMade
			}
			if b.c.Options.Retries > 0 && ctx.Err() == nil && time.Since(began) < limit {
				continue
			}
			err = &blackboard.UnsureError{ID: id, Made: made, Err: err}
		}
		return r, store.Done(r, err, "%s", what)
	}
}

// Enact puts settings in force: the types of artefacts that wait for approval from now on,
// with '*' for any characters, and the digest of all settings that decisions depend on.
// Courses of other settings count no more. ErrStale when the epoch is no longer the
// leader's.
func (b Leader) Enact(ctx context.Context, epoch string, approve []string, settings string) error {
	r, err := b.c.Do(ctx, "policy", epoch, between(approve), strings.Join(approve, " "), settings)
	return store.Done(r, err, "put settings in force")
}

// Enacted says whether these settings are in force, with the branch on which achieved
// goals land (empty: none).
func (b *Board) Enacted(ctx context.Context, approve []string, branch, settings string) (bool, error) {
	now, err := b.c.Strings(ctx, "read instance", "HMGET", b.c.Keys.Instance(), "approve", "land")
	if err != nil || orNone(now[0]) != between(approve) || now[1] != branch {
		return false, err
	}
	of, err := b.c.Text(ctx, "read courses", "HGET", b.c.Keys.Courses(), "settings")
	return of == settings, err
}

// orNone returns the form of no types for an instance where none were ever set.
func orNone(types string) string {
	if types == "" {
		return "[]"
	}
	return types
}

// between returns types as the scripts take them: each as its parts between the
// wildcards.
func between(types []string) string {
	all := make([][]string, len(types)) // [] for none, not null
	for i, t := range types {
		all[i] = strings.Split(t, "*")
	}
	return store.Encode(all)
}
