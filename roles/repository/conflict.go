package repository

import (
	"context"
	"fmt"

	"sett/blackboard"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
)

// merge merges the commits of a tree, or returns the first conflict among them. Its commits are held for the
// artefacts that a cub and the orchestrator may make of it, the same ones each time.
func (d desk) merge(ctx context.Context, goal string, s starts) (commit string, clash *line.Clash, err error) {
	c, found, err := store.FindClash(ctx, d.store, s.commits)
	if err != nil || !found {
		return c.Ours, nil, err
	}
	a := &line.Clash{
		Ours: c.Ours, Theirs: s.commits[c.Theirs], TheirsOf: s.artefacts[c.Theirs], Base: c.Base, Files: c.Files, Kinds: c.Kinds, Hunks: c.Hunks, Commit: c.Commit,
		Artefact: blackboard.ConflictID(goal, c.Ours, s.commits[c.Theirs]),
	}
	for _, i := range c.Of {
		a.Of = append(a.Of, s.artefacts[i])
	}
	if err := d.store.Hold(ctx, store.Artefact(a.Artefact), a.Commit); err != nil {
		return "", nil, err
	}
	return "", a, d.store.Hold(ctx, store.Artefact(blackboard.ConflictReviewID(a.Artefact, "")), a.Ours)
}

// sides are the parents of a commit that settles a conflict; none: it is about none.
func (d desk) sides(ctx context.Context, conflict string) ([]string, error) {
	if conflict == "" {
		return nil, nil
	}
	of, err := d.artefact(ctx, conflict)
	if err != nil {
		return nil, err
	}
	return store.Parents(ctx, d.store, of)
}

// settles refuses a commit that does not settle its conflict. The ref that holds it is swept: its
// artefact is never made.
func (d desk) settles(ctx context.Context, conflict, commit string) error {
	if conflict == "" {
		return nil
	}
	of, err := d.artefact(ctx, conflict)
	if err != nil {
		return err
	}
	why, err := store.Settles(ctx, d.store, commit, of)
	if err == nil && why != "" {
		err = fmt.Errorf("%w: %s", line.ErrTool, why)
	}
	return err
}
