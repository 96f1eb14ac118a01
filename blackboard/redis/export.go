package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/redis/rueidis"

	"sett/blackboard"
)

// ExportOptions say what is exported.
type ExportOptions struct {
	Goal     string             // only what belongs to this one; empty: the whole instance
	Progress func(ExportCounts) // is told now and then how far it has come; nil: nobody

	// Broken is told, once, of each artefact, claim and workflow whose record is
	// missing or corrupt, which is exported as far as it is there. Without it such a
	// record is an error.
	Broken func(error)
}

const (
	exportEntries = 5000 // that may have been added when the one read of a moment is made; more are read before
	exportRounds  = 100
	exportBytes   = 4 << 20 // of payloads, that are read at a time
)

// Export writes everything that the instance, or one goal, ever was: all
// artefacts, claims, bids, grants, workflows and entries of the ledger, as they
// are at one moment, whatever goes on meanwhile. Import reads it. An artefact that
// is not what the ledger recorded of it is an error that wraps
// blackboard.ErrCorrupt and names it; what was written by then has no footer.
func (b *Board) Export(ctx context.Context, w io.Writer, o ExportOptions) (ExportCounts, error) {
	e := &export{b: b.patient(), o: o, out: newLineWriter(w), members: map[string]bool{}, sums: recorded{}, told: map[string]bool{}}
	err := e.run(ctx)
	if err == nil {
		err = e.out.close()
	}
	if err != nil {
		return ExportCounts{}, fmt.Errorf("export ledger: %w", err)
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
	b   *Board
	o   ExportOptions
	out *lineWriter
	now moment

	spool             *spool
	claims, workflows int                 // that are spooled, in the order of their index
	members           map[string]bool     // artefacts and claims of the goal, when there is one
	sums              recorded            // of the artefacts that were written
	told              map[string]bool     // records of which Broken was told
	said              map[string]lostLine // see known
}

// moment is what changes of an instance, as it is at a position of the ledger.
type moment struct {
	position                 string
	artefacts, claims, goals int
	changedClaims            map[string]claimLine
	changedWorkflows         map[string]workflowLine
	open                     []openLine
}

func (e *export) run(ctx context.Context) error {
	from, err := e.b.Last(ctx)
	if err != nil {
		return err
	}
	if e.spool, err = newSpool(); err != nil {
		return err
	}
	defer e.spool.close()
	if err := errors.Join(e.spoolClaims(ctx), e.spoolWorkflows(ctx)); err != nil {
		return err
	}
	if err := e.takeMoment(ctx, from); err != nil {
		return err
	}
	if err := e.spool.rewind(); err != nil {
		return err
	}
	steps := []func(context.Context) error{e.header, e.writeArtefacts, e.writeClaims, e.writeWorkflows, e.writeOpen, e.writeEvents}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (e *export) header(ctx context.Context) error {
	at, err := e.b.ServerTime(ctx)
	if err != nil {
		return err
	}
	return e.out.write(lineHeader, headerLine{
		Kind: lineHeader, Format: ExportFormat, Schema: SchemaVersion, Instance: e.b.o.Instance, Workflow: e.o.Goal,
		ExportedAt: at, Position: e.now.position,
	})
}

func (e *export) progress() {
	if e.o.Progress != nil {
		e.o.Progress(e.out.counts)
	}
}

// takeMoment reads what changes. What was added to the ledger since the position
// is caught up with first, until little enough is left to be read in one step.
func (e *export) takeMoment(ctx context.Context, from string) error {
	e.now = moment{changedClaims: map[string]claimLine{}, changedWorkflows: map[string]workflowLine{}}
	for range exportRounds {
		r, err := e.b.do(ctx, "export", from, strconv.Itoa(exportEntries), e.o.Goal)
		if err != nil {
			return err
		}
		if r.status == "ok" {
			return e.now.read(r)
		}
		if r.status != "more" {
			return refused(r)
		}
		if from, err = e.catchUp(ctx, from); err != nil {
			return err
		}
	}
	return errors.New("the ledger grows faster than it can be read")
}

// catchUp reads a part of the ledger and what it speaks of, as it is now.
func (e *export) catchUp(ctx context.Context, from string) (string, error) {
	entries, err := e.b.entries(ctx, from, "+", exportEntries)
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
		some := ids[:min(page, len(ids))]
		ids = ids[len(some):]
		claims, err := e.b.claimLines(ctx, some)
		if err != nil {
			return from, err
		}
		workflows, err := e.b.workflowLines(ctx, some)
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

// entries returns up to count raw entries after a position, up to another.
func (b *Board) entries(ctx context.Context, after, to string, count int64) ([]rueidis.XRangeEntry, error) {
	var out []rueidis.XRangeEntry
	err := b.retry(ctx, "read ledger", func(ctx context.Context) (err error) {
		out, err = b.client.Do(ctx, b.client.B().Xrange().Key(b.keys.events()).Start("("+after).End(to).Count(count).Build()).AsXRange()
		return err
	})
	return out, err
}
