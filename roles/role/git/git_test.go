package git

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// What an agent wrote into the repository's configuration is not run when people
// use sett there.
func TestGitRunsNothingOfTheRepository(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	script := filepath.Join(dir, "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ntouch "+ran+"\n"), 0o755); err != nil { //nolint:gosec // it has to be a program
		t.Fatal(err)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	git("config", "core.fsmonitor", script)
	git("status", "--porcelain")
	if _, err := os.Stat(ran); err != nil {
		t.Fatalf("git does not run it anyway: %v", err)
	}
	if err := os.Remove(ran); err != nil {
		t.Fatal(err)
	}
	if _, err := (Repository{dir, os.Environ()}).Dirt(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("sett ran it")
	}
}
