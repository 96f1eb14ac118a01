package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
	"testing"
	"time"
)

// TestClosedTerminal: a terminal that is closed asks a command to stop, as an interrupt does, and
// never to hurry, however often it is told.
func TestClosedTerminal(t *testing.T) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP) // the tests may have been started by nohup
	ctx, hurry := signals(syscall.SIGINT, syscall.SIGTERM)
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

// TestQuit: Ctrl-\ asks a command to stop, and no stack trace is printed. It is no word to a part of an instance, which a tool
// could send it.
func TestQuit(t *testing.T) {
	for _, args := range [][]string{{"sett", "cub"}, {"/bin/sett-orchestrator"}, {"sett", "blackboard", "--help"}} {
		if _, _, stop := part(args); slices.Contains(stop, os.Signal(syscall.SIGQUIT)) {
			t.Errorf("%q: SIGQUIT ends it", args)
		}
	}
	_, rest, stop := part([]string{"sett", "watch", "-q"})
	if len(rest) != 2 {
		t.Errorf("its arguments are %q", rest)
	}
	ctx, _ := signals(stop...)
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ctx.Done():
	case <-time.After(time.Minute):
		t.Fatal("it goes on")
	}
}
