// Package archive exports the records of an instance and imports them into another
// one.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// Board is a blackboard whose records are exported or imported.
type Board interface{ Conn() *store.Conn }

// ExportOptions are the choices of an export.
type ExportOptions struct {
	Goal     string       // only this one; empty: the whole instance
	Progress func(Counts) // is told now and then how far it has come; nil: nobody

	// Broken is called once for each artefact, claim and workflow whose record is missing or
	// corrupt, or is not as the ledger has it, and for each index that lacks records; the rest is
	// exported. Nil: it is an error.
	Broken func(error)
}

const (
	exportEntries = 5000 // that may have been added when the one read of a moment is made; more are read before
	exportRounds  = 100
	exportBytes   = 4 << 20 // of payloads, that are read at a time
)

// Export writes all records of the instance, or of one goal: artefacts, claims, bids,
// grants, workflows and entries of the ledger, all as they are at one moment. Import
// reads them. Records that the ledger names and no index has are found by the ledger.
func Export(ctx context.Context, b Board, w io.Writer, o ExportOptions) (Counts, error) {
	e := &export{c: b.Conn().Patient(), o: o, out: NewLineWriter(w), listed: newListed(), sums: recorded{}, heard: newHeard(), records: newRecords(), told: map[string]bool{}}
	err := e.run(ctx)
	if err == nil {
		err = e.out.Close()
	}
	if err != nil {
		return Counts{}, fmt.Errorf("export ledger: %w", err)
	}
	return e.out.counts, nil
}

// export is one that is under way.
//
// Artefacts and the ledger are only ever added to, so it is enough to know how
// much of them there was at the moment. Claims and workflows change. All are read
// and spooled first, which takes its time; then those that changed meanwhile, of
// which the ledger tells, are read in one step that is the moment.
type export struct {
	c   *store.Conn
	o   ExportOptions
	out *lineWriter
	now moment

	spool         *spool
	spooledClaims int                 // in the order of their index
	workflows     int                 // that are spooled, in that order
	listed        *listed             // claims and goals
	found         *spool              // of those that only the ledger has, see unlisted
	sums          recorded            // of the artefacts in the ledger
	heard         heard               // in the ledger
	records       records             // that are spooled, if they can be read
	clockTold     bool                // the ledger says that the clock was set back
	told          map[string]bool     // records of which Broken was told
	said          map[string]lostLine // see known
}

// moment has the changing part of an instance as it is at a position of the ledger.
type moment struct {
	position                 string
	artefacts, claims, goals int
	changedClaims            map[string]ClaimLine
	changedWorkflows         map[string]WorkflowLine
	open                     []openLine
	calls                    []callLine
	brokenCalls              map[string]error
}

func (e *export) run(ctx context.Context) error {
	from, err := e.c.Last(ctx)
	if err != nil {
		return err
	}
	for _, s := range []**spool{&e.spool, &e.found} {
		if *s, err = newSpool(); err != nil {
			return err
		}
		defer (*s).close()
	}
	steps := []func(context.Context) error{
		e.lookForRemoved, e.spoolClaims, e.spoolWorkflows,
		func(ctx context.Context) error { return e.hearLedger(ctx, blackboard.Beginning, from) }, e.spoolFound,
		func(ctx context.Context) error { return e.takeMoment(ctx, from) }, e.listRest,
		func(ctx context.Context) error { return e.hearLedger(ctx, from, e.now.position) },
		func(context.Context) error { return errors.Join(e.spool.rewind(), e.found.rewind()) },
		e.header, e.writeArtefacts, e.writeClaims, e.writeWorkflows, e.writeOpen, e.writeCalls, e.writeEvents,
	}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) header(ctx context.Context) error {
	at, err := e.c.Now(ctx)
	if err != nil {
		return err
	}
	return e.out.Write(LineHeader, HeaderLine{
		Kind: LineHeader, Format: Format, Schema: Schema, Instance: e.c.Options.Instance, Workflow: e.o.Goal,
		ExportedAt: at, Position: e.now.position,
	})
}

func (e *export) progress() {
	if e.o.Progress != nil {
		e.o.Progress(e.out.counts)
	}
}

// takeMoment reads the changing part. It first catches up with the ledger since the
// position, until the rest is small enough for one step.
func (e *export) takeMoment(ctx context.Context, from string) error {
	e.now = moment{changedClaims: map[string]ClaimLine{}, changedWorkflows: map[string]WorkflowLine{}, brokenCalls: map[string]error{}}
	for range exportRounds {
		r, err := e.c.Do(ctx, "export", from, strconv.Itoa(exportEntries), e.o.Goal)
		if err != nil {
			return err
		}
		if r.Status == "ok" {
			return e.now.read(r)
		}
		if r.Status != "more" {
			return store.Refused(r)
		}
		if from, err = e.catchUp(ctx, from); err != nil {
			return err
		}
	}
	return errors.New("the ledger grows faster than it can be read")
}

// catchUp reads a part of the ledger and the present records of its ids.
func (e *export) catchUp(ctx context.Context, from string) (string, error) {
	entries, err := e.c.Entries(ctx, from, "+", exportEntries)
	if err != nil || len(entries) == 0 {
		return from, err
	}
	var ids []string
	seen := map[string]bool{}
	for _, entry := range entries {
		for _, value := range entry.FieldValues {
			for _, id := range idsIn(value) {
				if !seen[id] {
					seen[id] = true
					ids = append(ids, id)
				}
			}
		}
	}
	for len(ids) > 0 {
		some := ids[:min(store.Page, len(ids))]
		ids = ids[len(some):]
		claims, err := e.claimLines(ctx, some)
		if err != nil {
			return from, err
		}
		workflows, err := e.workflowLines(ctx, some)
		if err != nil {
			return from, err
		}
		for i := range some { // most ids are of something else
			if len(claims[i].Fields) > 0 {
				e.now.changedClaims[some[i]] = claims[i]
			}
			if len(workflows[i].Fields) > 0 {
				e.now.changedWorkflows[some[i]] = workflows[i]
			}
		}
	}
	return entries[len(entries)-1].ID, nil
}

// idsIn returns the ids that a value of an entry speaks of, in commas, spaces or
// alone.
func idsIn(value string) []string {
	var ids []string
	start := -1
	for i := 0; i <= len(value); i++ {
		if i < len(value) && (value[i] >= '0' && value[i] <= '9' || value[i] >= 'A' && value[i] <= 'Z' || value[i] >= 'a' && value[i] <= 'z') {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start == blackboard.IDLength {
			ids = append(ids, value[start:i])
		}
		start = -1
	}
	return ids
}
