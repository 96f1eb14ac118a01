package redis

import (
	"context"
	"errors"
	"slices"
	"strings"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// whole returns those of all that could be read, and the error for the others if
// nobody wants to be told of them.
func whole[T any](f blackboard.Filter, all []T, each []error) ([]T, error) {
	if f.Broken == nil {
		return all, errors.Join(each...)
	}
	kept := all[:0]
	for i, err := range each {
		if err != nil {
			f.Broken(err)
			continue
		}
		kept = append(kept, all[i])
	}
	return kept, nil
}

// ListArtefacts returns the newest artefacts that fit, newest last. It reads
// pages of the best index from its end, never more than it needs.
func (b Records) ListArtefacts(ctx context.Context, f blackboard.Filter) ([]blackboard.Artefact, error) {
	read := func(ctx context.Context, ids []string) ([]blackboard.Artefact, error) {
		all, each, err := b.TryArtefacts(ctx, ids)
		if err != nil {
			return nil, err
		}
		return whole(f, all, each)
	}
	return newest(ctx, b, f, read, func(a *blackboard.Artefact) *blackboard.Artefact { return a })
}

// ListOutlines is ListArtefacts without the payloads.
func (b Records) ListOutlines(ctx context.Context, f blackboard.Filter) ([]blackboard.Outline, error) {
	read := func(ctx context.Context, ids []string) ([]blackboard.Outline, error) {
		all, each, err := b.Outlines(ctx, ids)
		if err != nil {
			return nil, err
		}
		return whole(f, all, each)
	}
	return newest(ctx, b, f, read, func(o *blackboard.Outline) *blackboard.Artefact { return &o.Artefact })
}

// newest returns the newest artefacts that fit, newest last, in the form that read
// reads them in; of says which artefact such a form is of.
func newest[T any](ctx context.Context, b Records, f blackboard.Filter, read func(context.Context, []string) ([]T, error), of func(*T) *blackboard.Artefact) ([]T, error) {
	index, size := b.indexFor(f), store.Page
	if f.Limit > 0 {
		size = min(f.Limit, store.Page)
	}
	var out []T               // newest first
	seen := map[string]bool{} // new artefacts push entries to the next page
	for offset := 0; ; offset += size {
		ids, err := b.c.List(ctx, index, -offset-size, -offset-1)
		if err != nil {
			return nil, err
		}
		all, err := read(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i := len(all) - 1; i >= 0; i-- {
			a := of(&all[i])
			if a.CreatedAt.Before(f.Since) || (f.Limit > 0 && len(out) >= f.Limit) {
				slices.Reverse(out)
				return out, nil
			}
			if f.Fits(*a) && !seen[a.ID] {
				seen[a.ID] = true
				out = append(out, all[i])
			}
		}
		if len(ids) < size {
			slices.Reverse(out)
			return out, nil
		}
	}
}

// indexFor returns the index in which least has to be compared.
func (b Records) indexFor(f blackboard.Filter) string {
	switch {
	case f.Workflow != "":
		return b.c.Keys.ArtefactsByWorkflow(f.Workflow)
	case f.Agent != "":
		return b.c.Keys.ArtefactsByAgent(f.Agent)
	case f.Type != "" && !strings.Contains(f.Type, "*"):
		return b.c.Keys.ArtefactsByType(f.Type)
	}
	return b.c.Keys.Artefacts()
}
