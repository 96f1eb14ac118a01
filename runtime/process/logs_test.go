//go:build linux

package process

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"testing"

	"sett/runtime"
)

func TestLogsOfNobody(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	for _, name := range []string{"none", "../../etc/passwd"} {
		if _, err := r.Logs(t.Context(), name, runtime.LogOptions{}); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("log of %s: %v", name, err)
		}
	}
}

func TestLogsFollowAUnit(t *testing.T) {
	r := newRuntime(t, stateDir(t))
	startUp(t, r, spec("x", "polite"))
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	log, err := r.Logs(ctx, "x", runtime.LogOptions{Follow: true})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := r.Stop(t.Context(), "x", deadline); err != nil {
		t.Fatal(err)
	}
	start(t, r, spec("x", "exit", "0"))
	lines := bufio.NewScanner(log)
	for _, want := range []string{"bye", "last words"} {
		if !lines.Scan() || lines.Text() != want {
			t.Fatalf("line %q, want %q, %v", lines.Text(), want, lines.Err())
		}
	}
}
