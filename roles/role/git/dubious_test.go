package git

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sett/roles/role"
)

// A repository of another user has one remedy, with the path that git names.
func TestRemedyForDubiousOwnership(t *testing.T) {
	t.Parallel()
	err := errors.New("fatal: detected dubious ownership in repository at '/srv/a b'\nTo add an exception for this directory, call:\n\n\tgit config --global --add safe.directory '/srv/a b'")
	if got, want := Remedy(err), "it is another user's; git config --global --add safe.directory '/srv/a b'"; got != want {
		t.Errorf("the remedy is %q", got)
	}
}

// Git's words about it are one line of the error; the way on is the hint.
func TestDubiousOwnershipIsOneLine(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if out, err := exec.Command("git", "init", "-q", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	_, err := At(append(os.Environ(), "GIT_TEST_ASSUME_DIFFERENT_OWNER=1", "GIT_CONFIG_GLOBAL=/dev/null"), dir).Run(t.Context(), "status")
	var hinted *role.Error
	if !errors.As(err, &hinted) || strings.Contains(err.Error(), "\n") || !strings.Contains(hinted.Hint, "git config --global --add safe.directory /") {
		t.Errorf("it says %q", err)
	}
}
