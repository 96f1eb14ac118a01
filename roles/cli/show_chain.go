package cli

import (
	"context"
	"errors"

	"sett/blackboard"
	"sett/blackboard/redis"
)

// maxChain bounds how many versions of a thread, and how many tries of a claim, are
// followed.
const maxChain = 50

// lastTry returns a claim or, when it was retried, the last one that tries it again.
func lastTry(ctx context.Context, b *redis.Board, claim string) (blackboard.Snapshot, error) {
	c, err := b.Snapshot(ctx, claim)
	for n := 0; err == nil && c.Claim.RetriedAs != "" && n < maxChain; n++ {
		c, err = b.Snapshot(ctx, c.Claim.RetriedAs)
	}
	return c, err
}

// reworkOf returns the claim under which an artefact's next version is made, the
// last try of it. ErrNotFound when there is none.
func reworkOf(ctx context.Context, b *redis.Board, artefact string) (blackboard.Snapshot, error) {
	c, err := lastTry(ctx, b, blackboard.BiddingClaimID(artefact))
	if err != nil {
		return blackboard.Snapshot{}, err
	}
	return lastTry(ctx, b, blackboard.ReworkClaimID(c.Claim.ID))
}

// chain returns the versions of an artefact's thread, from the first on, each
// with the claim on it; nothing when there is but one.
func (s *shower) chain(id string) ([]reworkStep, error) {
	a, err := s.firstVersion(id)
	if err != nil {
		return nil, err
	}
	steps := []reworkStep{}
	for len(steps) < maxChain {
		step := reworkStep{Artefact: a.ID, Version: a.Version}
		c, err := lastTry(s.ctx, s.b, blackboard.BiddingClaimID(a.ID))
		if err == nil {
			step.Claim, step.Status = c.Claim.ID, c.Claim.Status
		} else if !errors.Is(err, blackboard.ErrNotFound) {
			return nil, err
		}
		rework, err := reworkOf(s.ctx, s.b, a.ID)
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
		if a, err = s.b.Artefact(s.ctx, g.ResultID); err != nil {
			return nil, err
		}
	}
	if len(steps) == 1 && steps[0].Rework == "" {
		return []reworkStep{}, nil
	}
	return steps, nil
}

// firstVersion goes back to where a thread began.
func (s *shower) firstVersion(id string) (blackboard.Artefact, error) {
	a, err := s.b.Artefact(s.ctx, id)
	for n := 0; err == nil && a.Version > 1 && a.ClaimID != "" && n < maxChain; n++ {
		var c blackboard.Snapshot
		if c, err = s.b.Snapshot(s.ctx, a.ClaimID); err != nil || !c.Claim.Rework {
			break
		}
		a, err = s.b.Artefact(s.ctx, c.Claim.ArtefactID)
	}
	return a, err
}
