package role

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"
)

// What runs has its grace from when it is told to stop, and loses it to whoever is in
// a hurry.
func TestAfterGrace(t *testing.T) {
	for name, grace := range map[string]time.Duration{"grace over": time.Millisecond, "hurry": time.Hour} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			hurry, stopped := make(chan struct{}), make(chan struct{})
			disarm := AfterGrace(ctx, grace, hurry, func() { close(stopped) })
			defer disarm()
			if name == "hurry" {
				close(hurry)
			}
			select {
			case <-stopped:
				t.Fatal("it is stopped before it is told to")
			case <-time.After(20 * time.Millisecond): // longer than the grace
			}
			cancel()
			<-stopped
		})
	}
}

func TestEvery(t *testing.T) {
	n := 0
	err := Every(t.Context(), time.Millisecond, func(context.Context) error {
		if n++; n == 3 {
			return io.EOF
		}
		return nil
	})
	if n != 3 || !errors.Is(err, io.EOF) {
		t.Errorf("%d times, %v", n, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = Every(ctx, time.Millisecond, func(context.Context) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
