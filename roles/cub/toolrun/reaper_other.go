//go:build unix && !linux

package toolrun

import (
	"context"
	"errors"
	"fmt"
)

// BecomeReaper returns errors.ErrUnsupported: only Linux lets a process adopt its
// descendants. A process that leaves its tool's session outlives the run here.
func BecomeReaper() error {
	return fmt.Errorf("become child subreaper: %w", errors.ErrUnsupported)
}

// ReapOrphans waits until ctx is done: nothing falls to this process here.
func ReapOrphans(ctx context.Context) { <-ctx.Done() }

// sweep has nothing to look for.
func (g *registry) sweep(int, string) {}
