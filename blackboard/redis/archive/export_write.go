package archive

import (
	"context"
	"fmt"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// indexes returns the names of the goal's indexes, or of the instance's.
func (e *export) indexes() (artefacts, claims string) {
	if e.o.Goal != "" {
		return e.c.Keys.ArtefactsByWorkflow(e.o.Goal), e.c.Keys.ClaimsByWorkflow(e.o.Goal)
	}
	return e.c.Keys.Artefacts(), e.c.Keys.Claims()
}

// spoolClaims keeps all claims, as they are while they are being read.
func (e *export) spoolClaims(ctx context.Context) error {
	_, index := e.indexes()
	for {
		ids, err := e.c.List(ctx, index, e.claims, e.claims+store.Page-1)
		if err != nil {
			return err
		}
		lines, err := e.claimLines(ctx, ids)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := e.spoolClaim(ctx, l); err != nil {
				return err
			}
		}
		e.claims += len(ids)
		if len(ids) < store.Page {
			return nil
		}
	}
}

func (e *export) spoolClaim(ctx context.Context, l ClaimLine) error {
	if err := e.broken(l.ID, l.fault()); err != nil {
		return err
	}
	if !blackboard.ValidID(string(l.Fields["workflow_id"])) {
		was, err := e.known(ctx, l.ID)
		if err != nil {
			return err
		}
		l.Workflow = was.Workflow
	}
	return e.spool.lines.Write(LineClaim, l)
}

// spoolWorkflows keeps all workflows, as they are while they are being read.
func (e *export) spoolWorkflows(ctx context.Context) error {
	for {
		ids, err := e.goals(ctx, e.workflows, store.Page)
		if err != nil {
			return err
		}
		lines, err := e.workflowLines(ctx, ids)
		if err != nil {
			return err
		}
		for _, l := range lines {
			if err := e.broken(workflowOf(l.ID), l.fault()); err != nil {
				return err
			}
			if err := e.spool.lines.Write(LineWorkflow, l); err != nil {
				return err
			}
		}
		e.workflows += len(ids)
		if len(ids) < store.Page {
			return nil
		}
	}
}

// goals returns a range of the goals that are exported.
func (e *export) goals(ctx context.Context, from, count int) ([]string, error) {
	if e.o.Goal == "" {
		return e.c.List(ctx, e.c.Keys.ArtefactsByType(blackboard.TypeGoalDefined), from, from+count-1)
	}
	if from > 0 {
		return nil, nil
	}
	return []string{e.o.Goal}, nil
}

// writeClaims writes those that there were at the moment.
func (e *export) writeClaims(ctx context.Context) error {
	_, index := e.indexes()
	return e.eachPage(ctx, index, e.now.claims, func(from int, ids []string) error {
		defer e.progress()
		for i, id := range ids {
			if e.o.Goal != "" {
				e.members[id] = true
			}
			changed, ok := e.now.changedClaims[id]
			if !ok {
				changed = ClaimLine{Kind: LineClaim, ID: id, Fields: Fields{}, Bids: []blackboard.Bid{}, Grants: Fields{}}
			}
			if err := e.writeSpooled(LineClaim, id, from+i < e.claims, changed, ok); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeWorkflows writes those that there were at the moment.
func (e *export) writeWorkflows(ctx context.Context) error {
	for from := 0; from < e.now.goals; from += store.Page {
		ids, err := e.goals(ctx, from, min(store.Page, e.now.goals-from))
		if err != nil {
			return err
		}
		for i, id := range ids {
			changed, ok := e.now.changedWorkflows[id]
			if !ok {
				changed = WorkflowLine{Kind: LineWorkflow, ID: id, Fields: Fields{}}
			}
			if err := e.writeSpooled(LineWorkflow, workflowOf(id), from+i < e.workflows, changed, ok); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSpooled writes the next line that was spooled, or instead of it the record as
// it is at the moment; an empty one where no entry has its id.
func (e *export) writeSpooled(kind, id string, spooled bool, now interface{ fault() error }, changed bool) error {
	if spooled {
		line, err := e.spool.back.next()
		if err != nil {
			return fmt.Errorf("read temporary file: %w", err)
		}
		if !changed {
			return e.out.raw(kind, line)
		}
	}
	if err := e.broken(id, now.fault()); err != nil {
		return err
	}
	return e.out.Write(kind, now)
}

// writeArtefacts writes them and remembers their digests for the ledger.
func (e *export) writeArtefacts(ctx context.Context) error {
	index, _ := e.indexes()
	return e.eachPage(ctx, index, e.now.artefacts, func(_ int, ids []string) error {
		defer e.progress()
		return e.storedArtefacts(ctx, ids, func(id string, stored map[string]string) error {
			if e.o.Goal != "" {
				e.members[id] = true
			}
			line, err := lineOfArtefact(id, stored)
			if err != nil {
				return e.writeLost(ctx, id, stored, err)
			}
			e.sums.add(id, stored["payload"])
			return e.out.Write(LineArtefact, line)
		})
	})
}

// writeEvents writes the ledger up to the moment, and holds the artefacts to it.
func (e *export) writeEvents(ctx context.Context) error {
	for after := blackboard.Beginning; ; {
		entries, err := e.c.Entries(ctx, after, e.now.position, 1000)
		if err != nil {
			return err
		}
		for _, entry := range entries {
			after = entry.ID
			if e.o.Goal != "" && entry.FieldValues["workflow"] != e.o.Goal {
				continue
			}
			if err := e.sums.check(entry.FieldValues); err != nil {
				return err
			}
			if err := e.out.Write(LineEvent, EventLine{LineEvent, entry.ID, fieldsOf(entry.FieldValues)}); err != nil {
				return err
			}
		}
		e.progress()
		if len(entries) == 0 || after == e.now.position {
			return e.sums.rest()
		}
	}
}

// writeCalls writes the calls of models under way, of the goal when there is one.
func (e *export) writeCalls(context.Context) error {
	for _, l := range e.now.calls {
		if e.o.Goal != "" && string(l.Fields["workflow"]) != e.o.Goal {
			continue
		}
		if err := e.out.Write(LineCall, l); err != nil {
			return err
		}
	}
	return nil
}

// writeOpen writes the open work, of the goal when there is one.
func (e *export) writeOpen(context.Context) error {
	for _, l := range e.now.open {
		if e.o.Goal != "" && l.ID != e.o.Goal && !e.members[l.ID] {
			continue
		}
		if err := e.out.Write(LineOpen, l); err != nil {
			return err
		}
	}
	return nil
}
