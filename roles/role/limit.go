package role

import (
	"context"
	"time"
)

// WithLimit is a context that ends after so long; 0: not before its parent. The cause is
// the reason that tells its end from another's; nil where nobody asks.
func WithLimit(ctx context.Context, most time.Duration, cause error) (context.Context, context.CancelFunc) {
	if most == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, most, cause)
}
