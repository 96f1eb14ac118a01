package orchestrator

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"sett/blackboard"
	"sett/roles/role/repository"
)

// sweeper is a term's use of the role repository, about commits that it took.
type sweeper interface {
	Taken(ctx context.Context) ([]repository.Taken, error)
	Swept(ctx context.Context, q repository.Swept) error
	Lent(ctx context.Context) ([]repository.Lending, error)
	Orphaned(ctx context.Context, q repository.Orphan) error
}

// sweepRefs tells the repository which of the commits that it took became an artefact's. A cub may die
// between the two: then a ref holds a commit for an artefact that never will be.
func (t *term) sweepRefs(ctx context.Context) error {
	every := time.NewTicker(t.pace.sweep)
	defer every.Stop()
	again := time.NewTimer(0) // a sett down may have left some
	defer again.Stop()
	seen := map[repository.Lending]time.Time{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		case <-again.C:
		case <-t.orphaned:
		}
		swept, kept := t.sweep(ctx), keepOrphans(ctx, t, seen)
		if swept != nil && ctx.Err() == nil {
			t.log.Debug("commits of the repository not swept", "error", swept)
		}
		if kept != nil && ctx.Err() == nil {
			t.log.Debug("changes of ended grants not kept", "error", kept)
		}
		if swept != nil || kept != nil {
			again.Reset(t.pace.retry) // the repository may be about to start
		}
	}
}

// crashed counts a grant of a dead holder, and has the changes of its tool kept soon: a person looks for them once the goal has
// failed.
func crashed(t *term, agent string) {
	t.metrics.Crashed(agent)
	select {
	case t.orphaned <- struct{}{}:
	default:
	}
}

// keepOrphans has the repository keep the changes that a tool left whose cub died: nobody else asks for that before the
// tree serves its next grant. Seen are the trees of ended grants, each since when.
func keepOrphans(ctx context.Context, t *term, seen map[repository.Lending]time.Time) error {
	all, err := t.repository.Lent(ctx)
	if err != nil {
		return err
	}
	now := t.clock.own()
	maps.DeleteFunc(seen, func(l repository.Lending, _ time.Time) bool { return !slices.Contains(all, l) })
	for _, l := range all {
		g, err := t.board.Grant(ctx, l.Claim, l.Agent)
		if errors.Is(err, blackboard.ErrNotFound) {
			continue
		}
		if err != nil {
			return err
		}
		if seen[l].IsZero() {
			seen[l] = now
		}
		switch died := g.Attempt > l.Attempt || g.Attempt == l.Attempt && g.State == blackboard.GrantFailed; {
		case died: // a cub that lives says how its tool ended before it hands anything in
		case g.Attempt == l.Attempt && g.State.Ended() && now.Sub(seen[l]) >= t.pace.orphan: // one that was told to stop may still do so
		default:
			continue
		}
		agent, _ := t.clan.get().Agent(l.Agent) // of one that has left the clan: the usual limit
		if err := t.repository.Orphaned(ctx, repository.Orphan{Lending: l, MaxSize: agent.Workspace.MaxSize}); err != nil {
			return err
		}
	}
	return nil
}

// sweep does so once.
func (t *term) sweep(ctx context.Context) error {
	all, err := t.repository.Taken(ctx)
	if err != nil || len(all) == 0 {
		return err
	}
	var q repository.Swept
	for _, taken := range all {
		switch recorded, never, err := t.ended(ctx, taken); {
		case err != nil:
			return err
		case recorded:
			q.Recorded = append(q.Recorded, taken.Artefact)
		case never:
			q.Never = append(q.Never, taken.Artefact)
		}
	}
	if len(q.Recorded)+len(q.Never) == 0 {
		return nil
	}
	return t.repository.Swept(ctx, q)
}

// ended says whether a commit's artefact is on the blackboard, or never will be: its grant has ended, or
// is in a later attempt. The grant is read first, since it may end meanwhile with that artefact. A claim
// that the blackboard does not know may come back with its data, and settles nothing.
func (t *term) ended(ctx context.Context, taken repository.Taken) (recorded, never bool, err error) {
	g, err := t.board.Grant(ctx, taken.Claim, taken.Agent)
	switch {
	case errors.Is(err, blackboard.ErrNotFound):
		return false, false, nil
	case err != nil:
		return false, false, err
	}
	over := g.Attempt > taken.Attempt || g.Attempt == taken.Attempt && (g.State.Ended() || g.State == blackboard.GrantAwaitingAnswer)
	if g.ResultID == taken.Artefact {
		return true, false, nil
	}
	_, err = t.board.Artefact(ctx, taken.Artefact)
	switch {
	case err == nil:
		return true, false, nil
	case errors.Is(err, blackboard.ErrNotFound):
		return false, over, nil
	}
	return false, false, err
}
