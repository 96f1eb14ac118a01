package view

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"sett/blackboard"
)

// MaxChain bounds how many versions of a thread, and how many tries of a claim, are
// followed.
const MaxChain = 50

// LastTry returns a claim or, when it was retried, the last one that tries it again.
func LastTry(ctx context.Context, b Claims, claim string) (blackboard.Snapshot, error) {
	c, err := b.Snapshot(ctx, claim)
	for n := 0; err == nil && c.Claim.RetriedAs != "" && n < MaxChain; n++ {
		c, err = b.Snapshot(ctx, c.Claim.RetriedAs)
	}
	return c, err
}

// ReworkOf returns the claim under which an artefact's next version is made, the
// last try of it. ErrNotFound when there is none.
func ReworkOf(ctx context.Context, b Claims, artefact string) (blackboard.Snapshot, error) {
	c, err := LastTry(ctx, b, blackboard.BiddingClaimID(artefact))
	if err != nil {
		return blackboard.Snapshot{}, err
	}
	return LastTry(ctx, b, blackboard.ReworkClaimID(c.Claim.ID))
}

// Failed is all of a goal that failed or was cancelled, and was not tried again.
type Failed struct {
	Workflow blackboard.Workflow
	Claims   []string // in the order of their Failures
	Ends     []string // Failures that belong to no claim
}

// None says whether there is nothing to try again.
func (f Failed) None() bool { return len(f.Claims)+len(f.Ends) == 0 }

// FailedOf reads the Failures of a goal. A retry may come between the reads: where all is tried again of a goal
// that had failed, it is read anew.
func FailedOf(ctx context.Context, b Board, goal string) (f Failed, err error) {
	const most = 3
	for range most {
		if f, err = failedOf(ctx, b, goal); err != nil || !f.None() || f.Workflow.Status != blackboard.WorkflowFailed {
			break
		}
	}
	return f, err
}

func failedOf(ctx context.Context, b Board, goal string) (f Failed, err error) {
	if f.Workflow, err = b.Claims.Workflow(ctx, goal); err != nil {
		return f, err
	}
	ids, err := b.Index.WorkflowArtefacts(ctx, goal)
	if err != nil {
		return f, err
	}
	all, unread, err := b.Artefacts.Outlines(ctx, ids)
	if err != nil {
		return f, err
	}
	var claims []string
	for i, o := range all {
		switch {
		case unread[i] != nil || o.StructuralType != blackboard.Failure:
		case o.ClaimID != "" && !slices.Contains(claims, o.ClaimID):
			claims = append(claims, o.ClaimID)
		case o.ClaimID == "" && !f.Workflow.HasRetried(o.ID):
			f.Ends = append(f.Ends, o.ID)
		}
	}
	read, lost, err := b.Claims.TryClaims(ctx, claims)
	if err != nil {
		return f, err
	}
	for i, c := range read {
		if lost[i] == nil && c.Status == blackboard.Terminated && c.RetriedAs == "" {
			f.Claims = append(f.Claims, c.ID)
		}
	}
	return f, nil
}

// RetriedBy is the person that had work of a goal tried again last, or "somebody" where the ledger does not tell;
// empty: nothing of it was.
func RetriedBy(ctx context.Context, b Board, ledger interface {
	History(ctx context.Context, after string, most int64) ([]blackboard.Event, error)
}, w blackboard.Workflow) string {
	var since []time.Time
	for failure := range strings.FieldsSeq(w.Retried) {
		since = append(since, blackboard.IDTime(failure))
	}
	ids, err := b.Index.WorkflowClaims(ctx, w.ID)
	if err != nil {
		return ""
	}
	claims, each, err := b.Claims.TryClaims(ctx, ids)
	if err != nil {
		return ""
	}
	for i, c := range claims {
		if each[i] == nil && c.RetryOf != "" {
			since = append(since, c.OpenedAt)
		}
	}
	if len(since) == 0 {
		return ""
	}
	const near, most = time.Minute, 5000 // clocks differ; the entry is among the next ones, unless the Failure was of no claim and long ago
	by := "somebody"
	events, err := ledger.History(ctx, blackboard.PositionAt(slices.MaxFunc(since, time.Time.Compare).Add(-near)), most)
	for _, e := range events {
		if err == nil && e.Kind == blackboard.EventRetry && e.Workflow == w.ID && e.Attributes[blackboard.AttributeBy] != "" {
			by = e.Attributes[blackboard.AttributeBy]
		}
	}
	return by
}

// chain returns the versions of an artefact's thread, from the first on, each
// with the claim on it; nothing when there is but one.
func (r Reader) chain(ctx context.Context, id string) ([]Version, error) {
	a, err := r.firstVersion(ctx, id)
	if err != nil {
		return nil, err
	}
	steps := []Version{}
	for len(steps) < MaxChain {
		step := Version{Artefact: a.ID, Version: a.Version}
		c, err := LastTry(ctx, r, blackboard.BiddingClaimID(a.ID))
		if err == nil {
			step.Claim, step.Status = c.Claim.ID, c.Claim.Status
		} else if !errors.Is(err, blackboard.ErrNotFound) {
			return nil, err
		}
		rework, err := ReworkOf(ctx, r, a.ID)
		if err == nil {
			step.Rework, step.Agent = rework.Claim.ID, rework.Claim.GrantedExclusiveAgent
		} else if !errors.Is(err, blackboard.ErrNotFound) {
			return nil, err
		}
		steps = append(steps, step)
		g, ok := rework.Grant(step.Agent)
		if !ok || g.State != blackboard.GrantDone {
			break
		}
		if a, err = r.Artefact(ctx, g.ResultID); err != nil {
			return nil, err
		}
	}
	if len(steps) == 1 && steps[0].Rework == "" {
		return []Version{}, nil
	}
	return steps, nil
}

// firstVersion goes back to where a thread began.
func (r Reader) firstVersion(ctx context.Context, id string) (blackboard.Artefact, error) {
	a, err := r.Artefact(ctx, id)
	for n := 0; err == nil && a.Version > 1 && a.ClaimID != "" && n < MaxChain; n++ {
		var c blackboard.Snapshot
		if c, err = r.Snapshot(ctx, a.ClaimID); err != nil || !c.Claim.Rework {
			break
		}
		a, err = r.Artefact(ctx, c.Claim.ArtefactID)
	}
	return a, err
}
