package store

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// tardy is a context that ends a moment after its deadline, as on a busy machine.
type tardy struct {
	context.Context
	at time.Time
}

func (c tardy) Deadline() (time.Time, bool) { return c.at, true }

// A call that ends with its caller's time says so: the context has ended when the call returns,
// although the connection saw it first.
func TestRetryUntilTheDeadline(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	c := &Conn{Options: Options{Timeout: time.Minute}}
	err := c.Retry(tardy{ctx, time.Now()}, "read", func(context.Context) error {
		time.AfterFunc(50*time.Millisecond, cancel)
		return context.DeadlineExceeded
	})
	if !errors.Is(err, context.DeadlineExceeded) || strings.Contains(err.Error(), "no answer within") || ctx.Err() == nil {
		t.Errorf("%v; the context: %v", err, ctx.Err())
	}
}
