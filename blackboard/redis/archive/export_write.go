package archive

import (
	"context"
	"fmt"
	"maps"
	"slices"

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
		ids, err := e.c.List(ctx, index, e.spooledClaims, e.spooledClaims+store.Page-1)
		if err != nil {
			return err
		}
		lines, err := e.claimLines(ctx, ids)
		if err != nil {
			return err
		}
		for _, l := range lines {
			e.listed.addClaim(l)
			if err := e.spoolClaim(ctx, e.spool, l, l.fault()); err != nil {
				return err
			}
		}
		e.spooledClaims += len(ids)
		if len(ids) < store.Page {
			return nil
		}
	}
}

func (e *export) spoolClaim(ctx context.Context, to *spool, l ClaimLine, fault error) error {
	if err := e.broken(l.ID, fault); err != nil {
		return err
	}
	e.records.addClaim(l)
	if !blackboard.ValidID(string(l.Fields["workflow_id"])) {
		was, err := e.known(ctx, l.ID)
		if err != nil {
			return err
		}
		l.Workflow = was.Workflow
	}
	return to.lines.Write(LineClaim, l)
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
			e.listed.add(l.ID)
			if err := e.spoolWorkflow(e.spool, l, l.fault()); err != nil {
				return err
			}
		}
		e.workflows += len(ids)
		if len(ids) < store.Page {
			return nil
		}
	}
}

func (e *export) spoolWorkflow(to *spool, l WorkflowLine, fault error) error {
	if err := e.broken(workflowOf(l.ID), fault); err != nil {
		return err
	}
	if fault == nil {
		e.records.addGoal(l)
	}
	return to.lines.Write(LineWorkflow, l)
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
	if err := e.writeFound(&e.listed.claims, index, e.writeClaim); err != nil {
		return err
	}
	return e.eachPage(ctx, index, e.now.claims, func(from int, ids []string) error {
		defer e.progress()
		for i, id := range ids {
			if err := e.writeClaim(e.spool, id, from+i < e.spooledClaims); err != nil {
				return err
			}
		}
		return nil
	})
}

func (e *export) writeClaim(from *spool, id string, spooled bool) error {
	changed, ok := e.now.changedClaims[id]
	if !ok {
		changed = ClaimLine{Kind: LineClaim, ID: id, Fields: Fields{}, Bids: []blackboard.Bid{}, Grants: Fields{}}
	}
	if ok {
		e.records.addClaim(changed)
	}
	if err := e.broken(id, e.records.compareClaim(id, e.heard, e.sums, e.clockTold)); err != nil {
		return err
	}
	return e.writeSpooled(from, LineClaim, id, spooled, changed, ok)
}

// writeWorkflows writes those that there were at the moment.
func (e *export) writeWorkflows(ctx context.Context) error {
	if err := e.writeFound(&e.listed.goals, e.c.Keys.ArtefactsByType(blackboard.TypeGoalDefined), e.writeWorkflow); err != nil {
		return err
	}
	for from := 0; from < e.now.goals; from += store.Page {
		ids, err := e.goals(ctx, from, min(store.Page, e.now.goals-from))
		if err != nil {
			return err
		}
		for i, id := range ids {
			if err := e.writeWorkflow(e.spool, id, from+i < e.workflows); err != nil {
				return err
			}
		}
	}
	return nil
}

func (e *export) writeWorkflow(from *spool, id string, spooled bool) error {
	changed, ok := e.now.changedWorkflows[id]
	if !ok {
		changed = WorkflowLine{Kind: LineWorkflow, ID: id, Fields: Fields{}}
	}
	if ok {
		e.records.addGoal(changed)
	}
	if err := e.broken(workflowOf(id), e.records.compareGoal(id, e.heard, e.clockTold)); err != nil {
		return err
	}
	return e.writeSpooled(from, LineWorkflow, workflowOf(id), spooled, changed, ok)
}

// writeSpooled writes the next line that was spooled, or instead of it the record as
// it is at the moment; an empty one where no entry has its id.
func (e *export) writeSpooled(from *spool, kind, id string, spooled bool, now interface{ fault() error }, changed bool) error {
	if spooled {
		line, err := from.back.next()
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

// writeArtefacts writes those of the index, each compared with the ledger. Before them, being older where the index was
// lost and begun anew, it writes those that the ledger alone names.
func (e *export) writeArtefacts(ctx context.Context) error {
	index, _ := e.indexes()
	if err := e.findArtefacts(ctx, index); err != nil {
		return err
	}
	return e.eachPage(ctx, index, e.now.artefacts, func(_ int, ids []string) error {
		defer e.progress()
		return e.storedArtefacts(ctx, ids, func(id string, stored map[string]string) error { return e.writeArtefact(ctx, id, stored) })
	})
}

func (e *export) writeArtefact(ctx context.Context, id string, stored map[string]string) error {
	line, err := lineOfArtefact(id, stored)
	if err == nil {
		err = e.sums.compare(id, stored, e.clockTold)
	}
	if err != nil {
		return e.writeLost(ctx, id, stored, err)
	}
	return e.out.Write(LineArtefact, line)
}

// writeEvents writes the ledger up to the moment.
func (e *export) writeEvents(ctx context.Context) error {
	return e.eachEntry(ctx, blackboard.Beginning, e.now.position, func(id string, _ entryTime, entry map[string]string) error {
		return e.out.Write(LineEvent, EventLine{LineEvent, id, fieldsOf(entry)})
	})
}

// eachEntry reads the ledger from behind a position up to another: the entries of the goal, when there is one, and those
// that say how far the others' times are ahead.
func (e *export) eachEntry(ctx context.Context, after, to string, f func(id string, at entryTime, entry map[string]string) error) error {
	at := entryTime{}.after(after)
	for after != to {
		entries, err := e.c.Entries(ctx, after, to, 1000)
		if err != nil || len(entries) == 0 {
			return err
		}
		for _, entry := range entries {
			after, at = entry.ID, at.after(entry.ID)
			if e.o.Goal != "" && entry.FieldValues["workflow"] != e.o.Goal && entry.FieldValues["kind"] != string(blackboard.EventClock) {
				continue
			}
			if err := f(entry.ID, at, entry.FieldValues); err != nil {
				return err
			}
		}
		e.progress()
	}
	return nil
}

// writeCalls writes the calls of models under way, of the goal when there is one. An import takes none without its goal.
func (e *export) writeCalls(context.Context) error {
	for _, id := range slices.Sorted(maps.Keys(e.now.brokenCalls)) {
		if err := e.broken(id, e.now.brokenCalls[id]); err != nil {
			return err
		}
	}
	for _, l := range e.now.calls {
		goal := string(l.Fields["workflow"])
		if e.o.Goal != "" && goal != e.o.Goal {
			continue
		}
		if !e.listed.has(goal) {
			if err := e.broken(l.ID, fmt.Errorf("call %s is of goal %q, which is nowhere else: %w", l.ID, goal, blackboard.ErrCorrupt)); err != nil {
				return err
			}
			continue
		}
		if err := e.out.Write(LineCall, l); err != nil {
			return err
		}
	}
	return nil
}

// writeOpen writes the open work, of the goal when there is one. An import takes none without its record.
func (e *export) writeOpen(context.Context) error {
	for _, l := range e.now.open {
		known := e.listed.has(l.ID) || e.sums[l.ID] != nil
		if l.Index == "workflows" || l.Index == "landings" {
			known = e.listed.has(l.ID)
		}
		if !known && e.o.Goal != "" {
			continue
		}
		if !known {
			if err := e.broken("open "+l.ID, fmt.Errorf("%s is open in %s and nowhere else: %w", l.ID, l.Index, blackboard.ErrCorrupt)); err != nil {
				return err
			}
			continue
		}
		if err := e.out.Write(LineOpen, l); err != nil {
			return err
		}
	}
	return nil
}
