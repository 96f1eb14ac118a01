package orchestrator

import (
	"context"
	"net"
	"testing"
	"time"
)

// Who waits for a port goes on as soon as it is open, and gives up with the
// context.
func TestAwaitPort(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { awaitPort(t.Context(), "redis://sett:x@"+at+"/0"); close(done) }()
	select {
	case <-done:
		t.Fatal("nothing listens, and it does not wait")
	case <-time.After(3 * portPause):
	}
	if l, err = net.Listen("tcp", at); err != nil {
		t.Fatal("somebody else has taken the port: ", err)
	}
	defer func() { _ = l.Close() }()
	select {
	case <-done:
	case <-time.After(portFor / 2):
		t.Error("it listens, and it is waited for")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	awaitPort(ctx, "redis://127.0.0.1:1/0")
	awaitPort(t.Context(), "no URL")
}
