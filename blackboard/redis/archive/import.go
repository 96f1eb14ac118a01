package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/internal/store"
)

// ImportOptions are the names and the bounds of an import.
type ImportOptions struct {
	Token    string       // of this import and no other
	By       string       // the person, for the ledger
	Source   string       // the file, for the ledger
	Progress func(Counts) // is told now and then how far it has come; nil: nobody
	Ready    func() error // is called when all records are there, before they appear; its error ends the import; may be nil

	// Altered is called at the end for each claim and workflow that is not as the ledger in the file has it; nil: nobody is
	// told. They are imported as they are.
	Altered func(error)

	Part int // records that are sent at a time; 0: stageRecords
}

const (
	importLease = 5 * time.Second        // after which an import that was not heard of counts as dead
	importBeat  = time.Second            // between its signs of life, and looks at them
	importClear = 1000                   // records at a time
	importUndo  = time.Minute            // that may take
	importLate  = 100 * time.Millisecond // a call may be under way to the server after its connection broke
)

// FormatError is a fault of a file that was to be imported.
type FormatError struct {
	Line   int
	Reason string
}

// Error names the line and the fault.
func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Import imports a file of Export into an instance without artefacts. All records
// appear in one step at the end, or none: a *FormatError is a fault of the file. Until
// then no goal can be posted. Open work goes on from there; the orchestrator handles
// grants that ran, as after a crash. The next import clears away one whose process was
// killed; an import that is interrupted after its last step has succeeded. The work of goals is counted anew then.
// ErrRefused: the instance takes none.
func Import(ctx context.Context, b Board, r io.Reader, o ImportOptions) (Counts, error) {
	c := b.Conn().Patient()
	i := &imports{c: c, mark: mark{c, o.Token, o.By}, o: o, lines: newLineReader(r), artefacts: recorded{}, known: map[string]bool{}, records: newRecords(), heard: newHeard(), listed: newListed(), bids: map[string]error{}}
	i.stage = newStage(c, o.Token, cmp.Or(o.Part, stageRecords), i.artefacts.has)
	err := i.header()
	if err == nil {
		if err = i.begin(ctx); err == nil {
			living, stop := context.WithCancel(ctx)
			go mark{b.Conn(), o.Token, o.By}.live(living) // its calls have to be quick
			err = i.run(ctx)
			stop()
		}
		if err != nil {
			err = i.undo(ctx, err)
		}
	}
	if err != nil {
		return Counts{}, fmt.Errorf("import ledger: %w", err)
	}
	i.tellAltered()
	i.recount(ctx)
	return i.counts, nil
}

// recount counts the open work of goals anew, with an entry in the ledger where the file had it wrong: a goal with
// less open than counted would never end. The import is complete: a goal that cannot be counted now keeps its count.
func (i *imports) recount(ctx context.Context) {
	for _, goal := range i.toCount {
		_, _ = i.c.Do(ctx, "recount", goal, "it was imported")
	}
}

// undo removes all imported records, also after an interruption. It returns the reason
// why nothing is imported; nil: everything is, and only the reply was lost.
func (i *imports) undo(ctx context.Context, err error) error {
	_ = i.stage.arrived() // err has the cause
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), importUndo)
	defer cancel()
	undone := i.mark.clear(ctx)
	if undone == nil { // a call of ours whose connection broke may have arrived after that
		time.Sleep(importLate)
		undone = i.mark.clear(ctx)
	}
	switch {
	case errors.Is(undone, errImported):
		return nil
	case undone != nil && !errors.Is(undone, blackboard.ErrStale):
		return fmt.Errorf("%w; and what was imported is still to be cleared away: %w", err, undone)
	}
	return err
}

// Abort clears away the records of an import that was killed. ErrNotFound when
// there are none, ErrRefused while one is under way.
func Abort(ctx context.Context, b Board, token, by string) error {
	m := mark{b.Conn().Patient(), token, by}
	var left int64
	err := m.c.Retry(ctx, "read import", func(ctx context.Context) (err error) {
		left, err = m.c.Client.Do(ctx, m.c.Client.B().Exists().Key(m.c.Keys.Staging("mark")).Build()).ToInt64()
		return err
	})
	if err == nil && left == 0 {
		err = blackboard.ErrNotFound
	}
	if err == nil {
		err = m.take(ctx)
	}
	if err == nil {
		err = m.clear(ctx)
	}
	if err != nil {
		return fmt.Errorf("abort import: %w", err)
	}
	return nil
}

// begin marks the instance, and clears away the records of a dead import.
func (i *imports) begin(ctx context.Context) error {
	if err := i.mark.take(ctx); err != nil {
		return err
	}
	if err := i.mark.clear(ctx); err != nil {
		return err
	}
	return i.mark.take(ctx)
}

// mark is the mark of one import on the instance.
type mark struct {
	c         *store.Conn
	token, by string
}

// live gives signs of life of an import, however long the next line is waited for.
func (m mark) live(ctx context.Context) {
	beat := time.NewTicker(importBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			// A failure here comes back at the next part, which returns it.
			_, _ = m.c.Do(ctx, "import_put", m.token, "0", store.Micros(importLease))
		}
	}
}

// take marks the instance as being imported into. An import that seems to be
// under way is watched until it is heard of again, which it is if it lives.
func (m mark) take(ctx context.Context) error {
	heard := ""
	for {
		r, err := m.c.Do(ctx, "import_begin", m.token, m.by, store.SchemaVersion, store.Micros(importLease))
		if err != nil {
			return err
		}
		if r.Status != "wait" {
			return store.Refused(r)
		}
		if heard != "" && r.Text(0) != heard {
			return &blackboard.RefusedError{Reason: r.Text(1) + " is importing into it"}
		}
		heard = r.Text(0)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(importBeat):
		}
	}
}

// errImported says of an import that it is complete: there is nothing to clear away.
var errImported = errors.New("it is complete")

// clear removes the records and the mark of the import with this token.
func (m mark) clear(ctx context.Context) error {
	for {
		r, err := m.c.Do(ctx, "import_clear", m.token, strconv.Itoa(importClear))
		switch {
		case err != nil:
			return err
		case r.Status == "finished":
			return errImported
		case r.Status != "more":
			return store.Refused(r)
		}
	}
}

// run reads the file and puts its records in place.
func (i *imports) run(ctx context.Context) (err error) {
	if i.entries.now, err = i.c.Now(ctx); err != nil {
		return err
	}
	for {
		kind, err := i.next()
		if err != nil {
			return err
		}
		if kind == lineFooter {
			break
		}
		if err := i.stage.flush(ctx, false); err != nil {
			return err
		}
		if i.lines.number%1000 == 0 && i.o.Progress != nil {
			i.o.Progress(i.counts)
		}
	}
	i.stage.total()
	if err := i.stage.flush(ctx, true); err != nil {
		return err
	}
	if i.o.Ready != nil {
		if err := i.o.Ready(); err != nil {
			return err
		}
	}
	r, err := i.c.Do(ctx, "import_finish", i.o.Token, i.o.By, i.o.Source, i.head.Workflow, strconv.Itoa(i.counts.Artefacts),
		strconv.Itoa(i.counts.Claims), strconv.Itoa(i.counts.Workflows), strconv.Itoa(i.counts.Events), i.lines.sum())
	if err == nil {
		err = store.Refused(r)
	}
	return err
}
