package instance

import (
	"cmp"
	"context"
	"errors"

	"sett/blackboard"
	"sett/roles/role/git"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

// EnsureBases brings into the store the commits that open goals need and it lacks: of
// goals that an older Sett posted, or that came with an imported ledger.
func EnsureBases(ctx context.Context, l *Locator, b *Board, in *Instance) error {
	goals, err := b.Index.ActiveWorkflows(ctx)
	if err != nil {
		return err
	}
	return EnsureBase(ctx, l, b, in, goals...)
}

// EnsureBase is EnsureBases for some goals. One without a base of its own starts from
// HEAD. A commit that is nowhere is a warning: a tool that needs it will fail.
func EnsureBase(ctx context.Context, l *Locator, b *Board, in *Instance, goals ...string) error {
	refs := make([]string, len(goals))
	for i, goal := range goals {
		refs[i] = store.Goal(goal)
	}
	s, err := made(l, in)
	if err != nil {
		return err
	}
	held, err := s.Commits(ctx, refs)
	if err != nil {
		return err
	}
	e := ensurer{l: l, b: b, in: in, store: s, users: Repository(l, in)}
	failed, first := 0, error(nil)
	for i, goal := range goals {
		if held[i] != "" {
			continue
		}
		err := e.ensure(ctx, goal)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, blackboard.ErrUnavailable):
			return err
		case err != nil:
			failed, first = failed+1, cmp.Or(first, err)
		}
	}
	if failed > 0 {
		l.Sayf("sett: warning: %s cannot be brought into the store: %s\n", words.Count(failed, "goal's commits", "goals' commits"), words.FirstLine(first))
	}
	return nil
}

// ensurer brings the commits of goals.
type ensurer struct {
	l     *Locator
	b     *Board
	in    *Instance
	store *store.Store
	users git.Repository
	head  string // that goals without a base start from; empty: not read yet
}

// ensure brings the commits of a goal's artefacts, and at last its base: with that the goal is done.
func (e *ensurer) ensure(ctx context.Context, goal string) error {
	a, err := e.b.Records.Artefact(ctx, goal)
	if err != nil {
		return err
	}
	failed := e.artefacts(ctx, goal)
	base := a.Base().Commit
	if base == "" {
		if e.head == "" {
			e.head = e.users.Head(ctx)
		}
		base = e.head
	}
	if base == "" {
		return failed
	}
	return cmp.Or(Bring(ctx, e.l, e.in, base, store.Goal(goal)), failed)
}

// artefacts brings the commits that a goal's artefacts name.
func (e *ensurer) artefacts(ctx context.Context, goal string) error {
	ids, err := e.b.Index.WorkflowArtefacts(ctx, goal)
	if err != nil {
		return err
	}
	all, each, err := e.b.Records.Outlines(ctx, ids)
	if err != nil {
		return err
	}
	var failed error
	for i := range all {
		if each[i] != nil || !all[i].NamesCommit() {
			continue
		}
		a, err := e.b.Records.Artefact(ctx, all[i].ID)
		if err == nil {
			err = e.artefact(ctx, a)
		}
		failed = cmp.Or(failed, err)
	}
	return failed
}

func (e *ensurer) artefact(ctx context.Context, a blackboard.Artefact) error {
	held, err := e.store.Commit(ctx, store.Artefact(a.ID))
	if err != nil || held != "" {
		return err
	}
	commit, err := git.Lookup(a.CommitHash(), func(stdin string, args ...string) (string, error) { return e.users.Feed(ctx, stdin, args...) })
	if err != nil {
		return err
	}
	return Bring(ctx, e.l, e.in, commit, store.Artefact(a.ID))
}
