package llm

import (
	"testing"

	"golang.org/x/sys/unix"
)

// pipe makes a named pipe, at which a reader would wait for ever.
func pipe(t *testing.T, name string) {
	if err := unix.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
}
