package role

import (
	"context"
	"time"

	"github.com/oklog/run"
)

// Together runs the actors until the first returns. It then cancels the context of the
// others, waits for them, and returns the error of the first.
func Together(ctx context.Context, actors ...func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var g run.Group
	for _, f := range actors {
		g.Add(func() error { return f(ctx) }, func(error) { cancel() })
	}
	return g.Run()
}

// Pause returns after a time, or at the end of the context if that is earlier.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
