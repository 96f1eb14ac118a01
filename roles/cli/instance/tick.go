package instance

import (
	"context"
	"time"
)

// Tick waits 30 ms, the time between two looks; false: the context has ended.
func Tick(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(30 * time.Millisecond):
		return true
	}
}
