package role

import (
	"context"
	"time"
)

// AfterGrace calls stop when the grace period after the end of the context is over,
// or at once when hurry closes after that end. The caller disarms it when nothing
// runs any more; then it does not call stop.
func AfterGrace(ctx context.Context, grace time.Duration, hurry <-chan struct{}, stop func()) (disarm func()) {
	done := make(chan struct{})
	unheard := context.AfterFunc(ctx, func() {
		over := time.NewTimer(grace)
		defer over.Stop()
		select {
		case <-done:
		case <-over.C:
			stop()
		case <-hurry:
			stop()
		}
	})
	return func() {
		unheard()
		close(done)
	}
}

// Every calls f after each span until f fails or the context ends, and returns the
// error of f or of the context.
func Every(ctx context.Context, span time.Duration, f func(context.Context) error) error {
	every := time.NewTicker(span)
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-every.C:
		}
		if err := f(ctx); err != nil {
			return err
		}
	}
}

// Sleep waits for a time, and returns false where the context ends before.
func Sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Late says whether the context ends within a time.
func Late(ctx context.Context, d time.Duration) bool {
	end, ok := ctx.Deadline()
	return ok && time.Until(end) < d
}
