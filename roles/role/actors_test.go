package role

import (
	"context"
	"errors"
	"testing"
	"time"
)

// The first actor to return ends the others, and its error counts.
func TestTogether(t *testing.T) {
	first := errors.New("first")
	ended := 0
	waits := func(ctx context.Context) error {
		Pause(ctx, time.Hour)
		ended++
		return ctx.Err()
	}
	if err := Together(t.Context(), waits, func(context.Context) error { return first }); !errors.Is(err, first) || ended != 1 {
		t.Errorf("%v, %d ended", err, ended)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Together(ctx, waits); !errors.Is(err, context.Canceled) {
		t.Errorf("after a cancel: %v", err)
	}
}
