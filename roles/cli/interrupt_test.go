package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"sett/roles/role"
)

// TestInterruptedWhileBlocked: whatever a command reads, and whoever reads its output,
// an interrupt ends it.
func TestInterruptedWhileBlocked(t *testing.T) {
	s := newStage(t)
	s.agree()
	goal := s.Goal(strings.Repeat("long ", 1<<16))
	fifo := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{
		"forage -", "forage --file " + fifo, "try lint --goal -", "cancel " + goal + " -", "ledger import " + fifo, "ledger import -",
		"unearth " + goal, "ledger export", "schema",
	} {
		t.Run(command, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			e := s.world(strings.Fields(command)...)
			silent, never := io.Pipe() // nobody writes to it
			unread, out := io.Pipe()   // nobody reads from it
			t.Cleanup(func() { _, _ = never.Close(), unread.Close() })
			e.Stdin, e.Stdout = silent, out
			ended := make(chan error, 1)
			go func() { ended <- Run(ctx, e) }()
			select {
			case err := <-ended:
				t.Fatalf("it does not wait: %v", err)
			case <-time.After(50 * time.Millisecond): // it may not be blocked yet, and ends all the same
			}
			cancel()
			select {
			case err := <-ended:
				if role.CodeOf(err) != role.Interrupted {
					t.Errorf("it ends with %v", err)
				}
			case <-time.After(5 * time.Minute):
				t.Fatal("it goes on")
			}
		})
	}
}
