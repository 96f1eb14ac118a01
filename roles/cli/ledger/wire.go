package ledger

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"sett/blackboard"
	"sett/blackboard/redis/archive"
	"sett/roles/cli/instance"
	"sett/roles/cli/term"
	"sett/roles/role/words"
)

// Export writes the records of an instance, or of one goal, and returns how much it
// wrote. It calls broken once for each record that is missing or corrupt.
func Export(ctx context.Context, t *term.Terminal, b *instance.Board, w io.Writer, goal string, broken func(error)) (string, error) {
	got, err := archive.Export(ctx, b.Archive, w, archive.ExportOptions{Goal: goal, Progress: progress(t, "exporting"), Broken: broken})
	if spool := (*archive.SpoolError)(nil); errors.As(err, &spool) {
		err = instance.Full(err, os.TempDir())
	}
	return amount(got), err
}

// Import reads an export of that source into an instance. It returns how much it read,
// and the number of artefacts that were lost before the export.
func Import(ctx context.Context, t *term.Terminal, b *instance.Board, in io.Reader, source string, ready func() error) (read string, lost int, err error) {
	return ImportCompared(ctx, t, b, in, source, ready, nil)
}

// ImportCompared is Import that calls altered once for each claim and goal that is not as the ledger in the source has it.
func ImportCompared(ctx context.Context, t *term.Terminal, b *instance.Board, in io.Reader, source string, ready func() error, altered func(error)) (read string, lost int, err error) {
	got, err := archive.Import(ctx, b.Archive, in, archive.ImportOptions{
		Token: t.NewID(), By: t.Who(), Source: source, Progress: progress(t, "importing"), Ready: ready, Altered: altered})
	return amount(got), got.Lost, err
}

// Recorded returns an error when an artefact is not as the ledger recorded it. Whether it is, the ledger may not say.
func Recorded(ctx context.Context, b *instance.Board, a blackboard.Artefact) error {
	err := archive.Recorded(ctx, b.Archive, a)
	if !errors.Is(err, blackboard.ErrCorrupt) {
		return nil
	}
	return changedByHand(err)
}

// altered compares artefacts with the ledger, with an error for each that is not as it was.
func altered(ctx context.Context, b *instance.Board, all []*blackboard.Outline) ([]error, error) {
	return archive.Altered(ctx, b.Archive, all)
}

// Malformed says whether the error of an import is a fault of its source.
func Malformed(err error) bool {
	var format *archive.FormatError
	return errors.As(err, &format)
}

// Abort removes the records of an import that was killed.
func Abort(ctx context.Context, t *term.Terminal, b *instance.Board) error {
	return archive.Abort(ctx, b.Archive, t.NewID(), t.Who())
}

const (
	progressAfter = 2 * time.Second // the first message comes
	progressEvery = 2 * time.Second
)

// progress returns a function that prints the progress of a long export or import.
func progress(t *term.Terminal, doing string) func(archive.Counts) {
	next := t.Now().Add(progressAfter)
	return func(c archive.Counts) {
		if now := t.Now(); !now.Before(next) {
			next = now.Add(progressEvery)
			t.Sayf("sett: %s: %s\n", doing, amount(c))
		}
	}
}

// amount says how much there is in an export.
func amount(c archive.Counts) string {
	return fmt.Sprintf("%s, %s, %s of the ledger", words.Count(c.Artefacts, "artefact"), words.Count(c.Claims, "claim"), words.Count(c.Events, "entry", "entries"))
}
