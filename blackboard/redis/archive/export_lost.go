package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// broken takes note that a record is missing or corrupt, if it is.
func (e *export) broken(what string, fault error) error {
	switch {
	case fault == nil || e.told[what]:
		return nil
	case e.o.Broken == nil && errors.Is(fault, blackboard.ErrNotFound):
		return fmt.Errorf("%w: it is in an index and nowhere else: %w", fault, blackboard.ErrCorrupt)
	case e.o.Broken == nil:
		return fault
	}
	e.told[what] = true
	e.o.Broken(fault)
	return nil
}

// lookForRemoved takes note that the ledger lacks entries, where the server tells.
func (e *export) lookForRemoved(ctx context.Context) error {
	removed, err := store.Removed(ctx, e.c)
	if denied := (*blackboard.DeniedError)(nil); errors.As(err, &denied) {
		return nil // sett doctor says so
	}
	if err != nil || removed == nil {
		return err
	}
	return e.broken("ledger", removed)
}

// writeLost writes an artefact that cannot be read, or is not as the ledger recorded it, with its record as it is.
func (e *export) writeLost(ctx context.Context, id string, stored map[string]string, fault error) error {
	if err := e.broken(id, fault); err != nil {
		return err
	}
	l, err := e.known(ctx, id)
	if err != nil {
		return err
	}
	l.Kind, l.ID, l.Stored = lineLost, id, fieldsOf(stored)
	l.Type, l.Workflow = cmp.Or(l.Type, stored["type"]), cmp.Or(l.Workflow, stored["workflow_id"])
	e.sums.lose(id, false)
	return e.out.Write(lineLost, l)
}

// known returns the type and workflow that the ledger has of an artefact or a claim.
// The first call reads the whole ledger, for all of them.
func (e *export) known(ctx context.Context, id string) (lostLine, error) {
	if e.said == nil {
		e.said = map[string]lostLine{}
		for after := blackboard.Beginning; ; {
			entries, err := e.c.Entries(ctx, after, "+", exportEntries)
			if err != nil {
				return lostLine{}, err
			}
			if len(entries) == 0 {
				break
			}
			for _, entry := range entries {
				e.hear(entry.FieldValues)
			}
			after = entries[len(entries)-1].ID
		}
	}
	was := e.said[id]
	was.Workflow = cmp.Or(was.Workflow, e.o.Goal)
	return was, nil
}

// hear remembers the facts in an entry about its artefact and its claim.
func (e *export) hear(entry map[string]string) {
	var was lostLine
	was.Workflow = entry["workflow"]
	for _, claim := range []string{entry["claim"], entry["rework"]} {
		if claim != "" {
			e.said[claim] = was
		}
	}
	id := stores(entry)
	if _, ok := e.said[id]; ok || id == "" {
		return
	}
	if id == entry["artefact"] {
		was.Type = entry["type"]
	}
	e.said[id] = was
}
