package view

import (
	"context"
	"errors"
	"slices"

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

// FailedClaims returns the claims of a goal that failed or were cancelled and were not tried
// again, in the order of their Failures.
func FailedClaims(ctx context.Context, b Board, goal string) ([]string, error) {
	ids, err := b.Index.WorkflowArtefacts(ctx, goal)
	if err != nil {
		return nil, err
	}
	all, unread, err := b.Artefacts.Outlines(ctx, ids)
	if err != nil {
		return nil, err
	}
	var claims []string
	for i, o := range all {
		if unread[i] == nil && o.StructuralType == blackboard.Failure && o.ClaimID != "" && !slices.Contains(claims, o.ClaimID) {
			claims = append(claims, o.ClaimID)
		}
	}
	read, lost, err := b.Claims.TryClaims(ctx, claims)
	if err != nil {
		return nil, err
	}
	claims = nil
	for i, c := range read {
		if lost[i] == nil && c.Status == blackboard.Terminated && c.RetriedAs == "" {
			claims = append(claims, c.ID)
		}
	}
	return claims, nil
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
