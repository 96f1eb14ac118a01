package main

import (
	"syscall"
	"testing"
	"time"
)

// TestClosedTerminal: a terminal that is closed asks a command to stop, as an interrupt does, and
// never to hurry, however often it is told.
func TestClosedTerminal(t *testing.T) {
	ctx, hurry := signals()
	tell := func(s syscall.Signal) {
		t.Helper()
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Fatal(err)
		}
	}
	tell(syscall.SIGHUP)
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
	tell(syscall.SIGHUP)
	tell(syscall.SIGINT)
	select {
	case <-hurry:
		t.Fatal("it hurries")
	case <-time.After(50 * time.Millisecond):
	}
	for { // one that comes before the last was taken is one with it
		tell(syscall.SIGTERM)
		select {
		case <-hurry:
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}
