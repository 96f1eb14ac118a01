package redis

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"sett/blackboard"
)

// Filter selects artefacts from the indexes. At most one of Type, Agent and
// Workflow is looked up; the others are compared.
type Filter struct {
	Type, Agent, Workflow string
	Since                 time.Time
	Limit                 int // the newest so many; 0: all

	// Broken is told of each record that is missing or corrupt, which is left out.
	// Without it such a record is an error.
	Broken func(error)
}

// whole returns those of all that could be read, and the error for the others if
// nobody wants to be told of them.
func whole[T any](f Filter, all []T, each []error) ([]T, error) {
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

// page is how many artefacts are read at a time when a filter has to compare.
const page = 200

// ListArtefacts returns the newest artefacts that fit, newest last. It reads
// pages of the best index from its end, never more than it needs.
func (b *Board) ListArtefacts(ctx context.Context, f Filter) ([]blackboard.Artefact, error) {
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
func (b *Board) ListOutlines(ctx context.Context, f Filter) ([]Outline, error) {
	read := func(ctx context.Context, ids []string) ([]Outline, error) {
		all, each, err := b.Outlines(ctx, ids)
		if err != nil {
			return nil, err
		}
		return whole(f, all, each)
	}
	return newest(ctx, b, f, read, func(o *Outline) *blackboard.Artefact { return &o.Artefact })
}

// newest returns the newest artefacts that fit, newest last, in the form that read
// reads them in; of says which artefact such a form is of.
func newest[T any](ctx context.Context, b *Board, f Filter, read func(context.Context, []string) ([]T, error), of func(*T) *blackboard.Artefact) ([]T, error) {
	index, size := b.indexFor(f), page
	if f.Limit > 0 {
		size = min(f.Limit, page)
	}
	var out []T               // newest first
	seen := map[string]bool{} // what arrives meanwhile pushes entries to the next page
	for offset := 0; ; offset += size {
		ids, err := b.list(ctx, index, -offset-size, -offset-1)
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
			if fits := (f.Type == "" || a.Type == f.Type) && (f.Agent == "" || a.ProducedByAgent == f.Agent); fits && !seen[a.ID] {
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
func (b *Board) indexFor(f Filter) string {
	switch {
	case f.Workflow != "":
		return b.keys.artefactsByWorkflow(f.Workflow)
	case f.Agent != "":
		return b.keys.artefactsByAgent(f.Agent)
	case f.Type != "":
		return b.keys.artefactsByType(f.Type)
	}
	return b.keys.artefacts()
}

// list returns a range of an index, oldest first; negative positions count from
// its end.
func (b *Board) list(ctx context.Context, index string, from, to int) ([]string, error) {
	return b.strings(ctx, "read index", func() []string {
		return []string{"LRANGE", index, strconv.Itoa(from), strconv.Itoa(to)}
	})
}

// strings makes a read that answers with strings. args[1] is the key.
func (b *Board) strings(ctx context.Context, what string, args func() []string) ([]string, error) {
	var out []string
	err := b.retry(ctx, what, func(ctx context.Context) (err error) {
		a := args()
		cmd := b.client.B().Arbitrary(a[0]).Keys(a[1]).Args(a[2:]...).ReadOnly()
		out, err = b.client.Do(ctx, cmd).AsStrSlice()
		return err
	})
	return out, err
}

func (b *Board) wholeIndex(ctx context.Context, key string) ([]string, error) {
	return b.strings(ctx, "read index", func() []string { return []string{"ZRANGE", key, "0", "-1"} })
}
