//go:build unix && !linux

package toolrun

import (
	"context"
	"errors"
	"fmt"
)

// BecomeReaper returns errors.ErrUnsupported: only Linux lets a process adopt
// those below it. What leaves its tool's session here outlives the run.
func BecomeReaper() error {
	return fmt.Errorf("become child subreaper: %w", errors.ErrUnsupported)
}

// ReapOrphans waits until ctx is done: nothing falls to this process here.
func ReapOrphans(ctx context.Context) { <-ctx.Done() }

// sweep has nothing to look for.
func (g *registry) sweep(int, string) {}
