package repository

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sett/roles/role"
	line "sett/roles/role/repository"
	"sett/roles/role/store"
	"sett/roles/role/words"
)

func (d desk) keep(ctx context.Context, q line.Keep) (line.Held, error) {
	if !plainName(q.Claim) {
		return line.Held{}, fmt.Errorf("%q is no claim", role.Clean(q.Claim))
	}
	l, err := d.lent(q.Grant)
	if err != nil {
		return line.Held{}, err
	}
	c := store.Changes{Message: q.Message, Size: q.MaxSize}
	if l.Tidied { // an earlier request's answer was lost
		return d.leftover(ctx, store.Leftover(q.Claim, d.agent, q.Attempt))
	}
	if !q.Empty {
		return d.keepAs(ctx, l, c, store.Leftover(q.Claim, d.agent, q.Attempt))
	}
	if c.Size = min(cmp.Or(q.MaxSize, mostOfFull), mostOfFull); c.Size == mostOfFull {
		c.Bound = "the size that is kept while the disk has no room"
	}
	h, err := d.keepAs(ctx, l, c, store.Leftover(q.Claim, d.agent, q.Attempt))
	switch {
	case err == nil:
		err = d.empty(l)
	case store.IsFull(err):
		err = d.drop(l, err)
	}
	return h, err
}

// held is the commit that a ref holds already.
func (d desk) held(ctx context.Context, ref string) (line.Held, error) {
	commit, err := d.store.Commit(ctx, ref)
	if commit == "" {
		ref = ""
	}
	return line.Held{Commit: commit, Ref: ref}, err
}

// leftover is the leftover that a ref holds already.
func (d desk) leftover(ctx context.Context, ref string) (line.Held, error) {
	commit, err := d.store.Commit(ctx, ref)
	if err != nil || commit == "" {
		return line.Held{}, err
	}
	kept, err := store.ReadKept(ctx, d.store, commit)
	return heldAs(kept, ref), err
}

// heldAs is a leftover that a ref holds.
func heldAs(kept store.Kept, ref string) line.Held {
	h := line.Held{Commit: kept.Commit, LeftOut: kept.LeftOut}
	if kept.Commit != "" {
		h.Ref = ref
	}
	for _, r := range kept.Beside {
		h.Beside = append(h.Beside, r.String())
	}
	return h
}

// Of the changes beside a tool's commit, the most files that are named and the most bytes that are kept: a tool may have left
// them with intent, at each run.
const (
	mostNamed  = 5
	mostBeside = 16_000_000
)

// rest keeps the changes that a tool left beside its own commit, up to a size in bytes, as a leftover: most likely it has
// forgotten to commit them.
func (d desk) rest(ctx context.Context, l line.Lent, commit string, most int64) (*line.Rest, error) {
	if l.ReadOnly || l.Tidied {
		return nil, nil
	}
	files, size, err := store.Uncommitted(ctx, d.tree, commit, l.Own)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	named := files[:min(len(files), mostNamed)]
	r := &line.Rest{More: len(files) - len(named)}
	for _, f := range named {
		r.Files = append(r.Files, role.Clean(f))
	}
	if size > most {
		r.NotKept = fmt.Sprintf("%s, above %s", words.Size(int(size)), words.Size(int(most)))
		return r, nil
	}
	ref := store.Leftover(l.Claim, d.agent, l.Attempt)
	kept, err := d.tree.Keep(ctx, store.Changes{
		Start: commit, Message: "left beside the commit of a result", Size: most, Author: d.author(), Own: l.Own, Known: l.Known,
	}, ref)
	switch {
	case err != nil:
		r.NotKept = role.Clean(err.Error())
	case kept.Commit == "": // git has them in another form
		return nil, nil
	default:
		r.Kept, r.Ref = kept.Commit, ref
	}
	return r, nil
}

// mostOfFull is the most bytes that are kept of a tree that takes too much: the disk must
// not get fuller by that.
const mostOfFull = 16 << 20

// drop removes changes that cannot be kept, at once: others need the disk.
func (d desk) drop(l line.Lent, why error) error {
	return errors.Join(fmt.Errorf("%w: %w", line.ErrTool, why), d.empty(l))
}

// empty removes the files of a tree of which nothing more is to be kept.
func (d desk) empty(l line.Lent) error {
	l.Settled, l.Tidied = true, true
	noted := d.lend(d.slot, l) // first, so that a repeated request takes none of this for the tool's work
	if err := d.tree.Empty(); err != nil {
		return err
	}
	if noted != nil { // a full disk has room by now
		noted = d.lend(d.slot, l)
	}
	return noted
}

// keepAs has a ref hold the tool's changes, and settles its tree. Changes that cannot be kept, or
// are too large, are dropped at once: others need the tree, and the disk.
func (d desk) keepAs(ctx context.Context, l line.Lent, c store.Changes, ref string) (line.Held, error) {
	c.Start, c.Before, c.Known, c.Author, c.Own = l.Start, l.Before, l.Known, d.author(), l.Own
	kept, err := d.tree.Keep(ctx, c, ref)
	switch {
	case store.ToolsFault(err):
		return line.Held{}, d.drop(l, err)
	case err != nil:
		return line.Held{}, err
	}
	if len(kept.LeftOut) > 0 {
		return heldAs(kept, ref), d.empty(l)
	}
	return heldAs(kept, ref), d.server.settle(d.slot, l)
}

// keepOrphan keeps the changes of a grant before: its cub died before it could say how
// the tool ended. Files that are too large to keep are dropped.
func (d desk) keepOrphan(ctx context.Context, size int64) error {
	l, err := line.ReadLent(d.place(d.slot))
	if errors.Is(err, line.ErrDamaged) {
		d.log.Warn("what a tool may have left is not kept", "tree", d.slot, "error", err)
		return store.RemoveAll(line.LentFile(d.place(d.slot)))
	}
	if err != nil || !l.Unsettled() {
		return err
	}
	if err := d.tree.Stands(); errors.Is(err, store.ErrNoTree) {
		d.log.Warn("changes lost", "tree", d.slot, "claim", l.Claim, "attempt", l.Attempt, "error", err)
		return d.server.settle(d.slot, l)
	} else if err != nil {
		return err
	}
	held, err := d.keepAs(ctx, l, store.Changes{Message: "left by a tool whose cub died", Size: size}, store.Leftover(l.Claim, d.agent, l.Attempt))
	if len(held.LeftOut) > 0 {
		d.log.Warn("changes dropped", "tree", d.slot, "claim", l.Claim, "attempt", l.Attempt, "left_out", held.LeftOut)
	}
	switch {
	case errors.Is(err, line.ErrTool):
		d.log.Warn("changes dropped", "tree", d.slot, "claim", l.Claim, "attempt", l.Attempt, "error", err)
	case err != nil:
		return err
	case held.Commit != "":
		d.log.Warn("changes kept of a tool whose cub died", "tree", d.slot, "claim", l.Claim, "attempt", l.Attempt, "leftovers", held.Ref, "beside", held.Beside)
	}
	return nil
}
