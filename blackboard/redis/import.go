package redis

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"sett/blackboard"
)

// ImportOptions say who imports what.
type ImportOptions struct {
	Token    string             // of this import and no other
	By       string             // who, for the ledger
	Source   string             // from what, for the ledger
	Progress func(ExportCounts) // is told now and then how far it has come; nil: nobody

	part int // records that are sent at a time; 0: stageRecords
}

const (
	importLease = 5 * time.Second // after which an import that was not heard of counts as dead
	importBeat  = time.Second     // between its signs of life, and looks at them
	importClear = 1000            // records at a time
	importUndo  = time.Minute     // that may take
)

// FormatError says what is wrong with a file that was to be imported.
type FormatError struct {
	Line   int
	Reason string
}

func (e *FormatError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Import brings what Export wrote into an instance that has no artefacts yet. It
// is there as a whole, in one step at the end, or not at all: a *FormatError says
// what is wrong with the file. Until then nobody can post a goal. What was open
// goes on from there; grants that ran are the orchestrator's to deal with, as
// after a crash. An import whose process was killed is cleared away by the next; one
// that is interrupted when everything is in has succeeded. ErrRefused says why the
// instance takes none.
func (b *Board) Import(ctx context.Context, r io.Reader, o ImportOptions) (ExportCounts, error) {
	p := b.patient()
	i := &imports{b: p, o: o, lines: newLineReader(r), artefacts: recorded{}, known: map[string]bool{}}
	i.stage = newStage(p, o.Token, orDefault(o.part, stageRecords))
	err := i.header()
	if err == nil {
		if err = i.begin(ctx); err == nil {
			living, stop := context.WithCancel(ctx)
			go b.live(living, o.Token) // its calls have to be quick
			err = i.run(ctx)
			stop()
		}
		if err != nil {
			err = i.undo(ctx, err)
		}
	}
	if err != nil {
		return ExportCounts{}, fmt.Errorf("import ledger: %w", err)
	}
	return i.counts, nil
}

// undo clears away what was imported, also when it was interrupted: nothing half done
// is left. It returns why nothing is imported; nil: everything is, and only the word
// of it was lost.
func (i *imports) undo(ctx context.Context, err error) error {
	_ = i.stage.arrived() // what is wrong is known
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), importUndo)
	defer cancel()
	switch undone := i.b.clearImport(ctx, i.o.Token); {
	case errors.Is(undone, errImported):
		return nil
	case undone != nil && !errors.Is(undone, blackboard.ErrStale):
		return fmt.Errorf("%w; and what was imported is still to be cleared away: %w", err, undone)
	}
	return err
}

// AbortImport clears away what an import left that was killed. ErrNotFound when
// there is nothing, ErrRefused while one is under way.
func (b *Board) AbortImport(ctx context.Context, token, by string) error {
	var left int64
	err := b.retry(ctx, "read import", func(ctx context.Context) (err error) {
		left, err = b.client.Do(ctx, b.client.B().Exists().Key(b.keys.staging("mark")).Build()).ToInt64()
		return err
	})
	if err == nil && left == 0 {
		err = blackboard.ErrNotFound
	}
	if err == nil {
		err = b.takeImport(ctx, token, by)
	}
	if err == nil {
		err = b.patient().clearImport(ctx, token)
	}
	if err != nil {
		return fmt.Errorf("abort import: %w", err)
	}
	return nil
}

// begin marks the instance, and clears away what a dead import left.
func (i *imports) begin(ctx context.Context) error {
	if err := i.b.takeImport(ctx, i.o.Token, i.o.By); err != nil {
		return err
	}
	if err := i.b.clearImport(ctx, i.o.Token); err != nil {
		return err
	}
	return i.b.takeImport(ctx, i.o.Token, i.o.By)
}

// live gives signs of life of an import, however long the next line is waited for.
func (b *Board) live(ctx context.Context, token string) {
	beat := time.NewTicker(importBeat)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
			// Who fails here fails at the next part too, and says so there.
			_, _ = b.do(ctx, "import_put", token, "0", micros(importLease))
		}
	}
}

// takeImport marks the instance as being imported into. An import that seems to be
// under way is watched until it is heard of again, which it is if it lives.
func (b *Board) takeImport(ctx context.Context, token, by string) error {
	heard := ""
	for {
		r, err := b.do(ctx, "import_begin", token, by, SchemaVersion, micros(importLease))
		if err != nil {
			return err
		}
		if r.status != "wait" {
			return refused(r)
		}
		if heard != "" && r.text(0) != heard {
			return &blackboard.RefusedError{Reason: r.text(1) + " is importing into it"}
		}
		heard = r.text(0)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(importBeat):
		}
	}
}

// errImported says of an import that it is complete: there is nothing to clear away.
var errImported = errors.New("it is complete")

// clearImport removes what the import with this token wrote, and its mark.
func (b *Board) clearImport(ctx context.Context, token string) error {
	for {
		r, err := b.do(ctx, "import_clear", token, strconv.Itoa(importClear))
		switch {
		case err != nil:
			return err
		case r.status == "finished":
			return errImported
		case r.status != "more":
			return refused(r)
		}
	}
}

// run reads the file and puts what it holds in place.
func (i *imports) run(ctx context.Context) error {
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
	if err := i.stage.flush(ctx, true); err != nil {
		return err
	}
	r, err := i.b.do(ctx, "import_finish", i.o.Token, i.o.By, i.o.Source, i.head.Workflow, strconv.Itoa(i.counts.Artefacts),
		strconv.Itoa(i.counts.Claims), strconv.Itoa(i.counts.Workflows), strconv.Itoa(i.counts.Events), i.lines.sum())
	if err == nil {
		err = refused(r)
	}
	return err
}
