package redis

import (
	"context"
	"fmt"

	"sett/blackboard"
)

// Known returns the best sight of the board so far: that of the options, or a later one.
func (b *Board) Known() blackboard.Mark { return b.c.Known() }

// Look compares the board with the sight of before, and returns the best sight. ErrLost:
// it is another board, or an older copy.
func (b *Board) Look(ctx context.Context) (blackboard.Mark, error) {
	_, err := b.c.DoMarked(ctx, "mark")
	return b.c.Known(), wrap(err)
}

// Settle gives the board the mark if it has none, and returns the best sight, of which
// ErrLost as Look. To adopt is to take a lost board as it is, and to have its leader and
// agents do so.
func (b *Board) Settle(ctx context.Context, mark string, adopt bool, by string) (blackboard.Mark, error) {
	how := ""
	if adopt {
		how = "adopted"
	}
	r, err := b.c.DoMarked(ctx, "settle", mark, how, by)
	if err != nil {
		return b.c.Known(), wrap(err)
	}
	met, err := blackboard.ParseMark(r.Text(0))
	if err == nil {
		b.c.Take(met)
	}
	return met, wrap(err)
}

func wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("look at the ledger: %w", err)
}
