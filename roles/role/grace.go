package role

import (
	"context"
	"time"
)

// AfterGrace calls stop when the context has ended and what runs has had its grace
// since, or at once when whoever stops us is in a hurry. It calls it no more once it
// is disarmed, which is to be done when nothing runs.
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

// Every calls f after each of these spans, until that fails or the context ends, with
// whose error it does.
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
