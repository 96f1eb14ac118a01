package term

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
)

// A read that is given up leaves what it would have read to nobody, and earlier ones are
// whole.
func TestReaderUntil(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	from, to := io.Pipe()
	go func() { _, _ = to.Write([]byte("first and second")) }()
	r := ReadUntil(ctx, from)
	got := make([]byte, 16)
	if n, err := io.ReadFull(r, got); err != nil || string(got[:n]) != "first and second" {
		t.Fatalf("%q, %v", got, err)
	}
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := r.Read(got); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	whole, err := io.ReadAll(ReadUntil(t.Context(), strings.NewReader(strings.Repeat("x", 5000))))
	if err != nil || len(whole) != 5000 {
		t.Errorf("%d bytes, %v", len(whole), err)
	}
}

// A second interrupt ends a command that holds on and does not end.
func TestInterruptedTwice(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hurry, h := make(chan struct{}), &Hold{}
	h.On()
	cancel()
	close(hurry)
	last := lastResort
	lastResort = time.Millisecond
	defer func() { lastResort = last }()
	if err := Interruptible(ctx, hurry, h, func() error { select {} }); !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
}
