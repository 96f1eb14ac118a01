package redis

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"unsafe"

	"sett/blackboard"
)

// indexes returns the names of the goal's indexes, or of the instance's.
func (e *export) indexes() (artefacts, claims string) {
	if e.o.Goal != "" {
		return e.b.keys.artefactsByWorkflow(e.o.Goal), e.b.keys.claimsByWorkflow(e.o.Goal)
	}
	return e.b.keys.artefacts(), e.b.keys.claims()
}

// spoolClaims keeps all claims, as they are while they are being read.
func (e *export) spoolClaims(ctx context.Context) error {
	_, index := e.indexes()
	for {
		ids, err := e.b.list(ctx, index, e.claims, e.claims+page-1)
		if err != nil {
			return err
		}
		err = e.b.claimLines(ctx, ids, func(l claimLine) error { return e.spool.lines.write(lineClaim, l) })
		if err != nil {
			return err
		}
		e.claims += len(ids)
		if missing := e.claims - e.spool.lines.counts.Claims; missing > 0 {
			return fmt.Errorf("%d claims are in the index and nowhere else: %w", missing, blackboard.ErrCorrupt)
		}
		if len(ids) < page {
			return nil
		}
	}
}

// spoolWorkflows keeps all workflows, as they are while they are being read.
func (e *export) spoolWorkflows(ctx context.Context) error {
	for {
		ids, err := e.goals(ctx, e.workflows, page)
		if err != nil {
			return err
		}
		err = e.b.workflowLines(ctx, ids, func(l workflowLine) error { return e.spool.lines.write(lineWorkflow, l) })
		if err != nil {
			return err
		}
		e.workflows += len(ids)
		if missing := e.workflows - e.spool.lines.counts.Workflows; missing > 0 {
			return fmt.Errorf("%d goals have no workflow: %w", missing, blackboard.ErrCorrupt)
		}
		if len(ids) < page {
			return nil
		}
	}
}

// goals returns a range of the goals that are exported.
func (e *export) goals(ctx context.Context, from, count int) ([]string, error) {
	if e.o.Goal == "" {
		return e.b.list(ctx, e.b.keys.artefactsByType(blackboard.TypeGoalDefined), from, from+count-1)
	}
	if from > 0 {
		return nil, nil
	}
	return []string{e.o.Goal}, nil
}

// writeClaims writes those that there were at the moment.
func (e *export) writeClaims(ctx context.Context) error {
	_, index := e.indexes()
	return e.b.eachPage(ctx, index, e.now.claims, func(from int, ids []string) error {
		defer e.progress()
		for i, id := range ids {
			if e.o.Goal != "" {
				e.members[id] = true
			}
			changed, ok := e.now.changedClaims[id]
			if err := e.writeSpooled(lineClaim, id, from+i < e.claims, changed, ok); err != nil {
				return err
			}
		}
		return nil
	})
}

// writeWorkflows writes those that there were at the moment.
func (e *export) writeWorkflows(ctx context.Context) error {
	for from := 0; from < e.now.goals; from += page {
		ids, err := e.goals(ctx, from, min(page, e.now.goals-from))
		if err != nil {
			return err
		}
		for i, id := range ids {
			changed, ok := e.now.changedWorkflows[id]
			if err := e.writeSpooled(lineWorkflow, id, from+i < e.workflows, changed, ok); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeSpooled writes the next line that was spooled, or instead of it what it had
// become by the moment.
func (e *export) writeSpooled(kind, id string, spooled bool, now any, changed bool) error {
	var line []byte
	if spooled {
		var err error
		if line, err = e.spool.back.next(); err != nil {
			return fmt.Errorf("read temporary file: %w", err)
		}
	}
	switch {
	case changed:
		return e.out.write(kind, now)
	case spooled:
		return e.out.raw(kind, line)
	}
	return fmt.Errorf("%s %s is in no entry of the ledger: %w", kind, id, blackboard.ErrCorrupt)
}

// writeArtefacts writes them and remembers what the ledger should say of them.
func (e *export) writeArtefacts(ctx context.Context) error {
	index, _ := e.indexes()
	return e.b.eachPage(ctx, index, e.now.artefacts, func(_ int, ids []string) error {
		defer e.progress()
		return e.b.artefactLines(ctx, ids, func(l artefactLine, payload string) error {
			if e.o.Goal != "" {
				e.members[l.Artefact.ID] = true
			}
			e.sums.add(l.Artefact.ID, payload)
			return e.out.write(lineArtefact, l)
		})
	})
}

// writeEvents writes the ledger up to the moment, and holds the artefacts to it.
func (e *export) writeEvents(ctx context.Context) error {
	for after := Beginning; ; {
		entries, err := e.b.entries(ctx, after, e.now.position, 1000)
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
			if err := e.out.write(lineEvent, eventLine{lineEvent, entry.ID, fieldsOf(entry.FieldValues)}); err != nil {
				return err
			}
		}
		e.progress()
		if len(entries) == 0 || after == e.now.position {
			return e.sums.rest()
		}
	}
}

// writeOpen writes what is open, of the goal when there is one.
func (e *export) writeOpen(context.Context) error {
	for _, l := range e.now.open {
		if e.o.Goal != "" && l.ID != e.o.Goal && !e.members[l.ID] {
			continue
		}
		if err := e.out.write(lineOpen, l); err != nil {
			return err
		}
	}
	return nil
}

// recorded holds, of each artefact, what its payload is, until the ledger's entry
// that recorded it has been compared.
type recorded map[string]*seal

// seal is what an entry records of a payload.
type seal struct {
	sum     [sha256.Size]byte
	size    int
	checked bool
}

func (r recorded) add(id, payload string) {
	r[id] = &seal{sum: sha256.Sum256(unsafe.Slice(unsafe.StringData(payload), len(payload))), size: len(payload)}
}

// check compares an entry with the artefact that it records, which is its result
// where it has one. The first entry that names it is the one that stored it.
func (r recorded) check(entry map[string]string) error {
	id := entry["result"]
	if id == "" {
		id = entry["artefact"]
	}
	if entry["sha256"] == "" || id == "" {
		return nil
	}
	s, ok := r[id]
	if !ok {
		return fmt.Errorf("artefact %s is in the ledger and nowhere else: %w", id, blackboard.ErrCorrupt)
	}
	if s.checked {
		return nil
	}
	if entry["size"] != strconv.Itoa(s.size) || entry["sha256"] != hex.EncodeToString(s.sum[:]) {
		return fmt.Errorf("artefact %s is not what the ledger recorded: its payload has %d bytes and SHA-256 %x, recorded were %s bytes and %s: %w",
			id, s.size, s.sum, entry["size"], entry["sha256"], blackboard.ErrCorrupt)
	}
	s.checked = true
	return nil
}

// rest returns an error when there is an artefact that no entry recorded.
func (r recorded) rest() error {
	first := ""
	for id, s := range r {
		if !s.checked && (first == "" || id < first) {
			first = id
		}
	}
	if first != "" {
		return fmt.Errorf("artefact %s is not in the ledger: %w", first, blackboard.ErrCorrupt)
	}
	return nil
}
