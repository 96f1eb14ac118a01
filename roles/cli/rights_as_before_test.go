package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sett/roles/cli/instance"
	"sett/roles/role"
)

const walledClan = "local: {write: [%s]}\nagents:\n  one: {command: [/bin/cat]}\n"

// remembered is a repository whose instance is up by --runtime process, with walls.
func remembered(t *testing.T) (e role.Env, dir string) {
	t.Helper()
	e, dir = workspace(t)
	if err := os.RemoveAll(filepath.Dir(dir)); err != nil { // what was agreed to
		t.Fatal(err)
	}
	begin(t, e, "first", fmt.Sprintf(walledClan, ""))
	if _, err := invoke(t.Context(), e, "up", "--runtime", "process"); err != nil {
		t.Fatal(err)
	}
	return e, dir
}

// begin makes a new repository in the workspace, in place of what is there.
func begin(t *testing.T, e role.Env, message, yml string) {
	t.Helper()
	root := e.Args[1]
	if err := os.RemoveAll(root); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		t.Fatal(err)
	}
	gitIn(t, root, "", "init", "-q", "-b", "main")
	rewrite(t, e, yml)
	commitAll(t, e, message)
}

func commitAll(t *testing.T, e role.Env, message string) {
	t.Helper()
	gitIn(t, e.Args[1], "", "add", ".")
	gitIn(t, e.Args[1], "", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", message)
}

// refused fails the test unless a command ends with 2 and says so.
func refused(t *testing.T, e role.Env, says string, args ...string) {
	t.Helper()
	if _, err := invoke(t.Context(), e, args...); role.CodeOf(err) != role.Usage || !strings.Contains(err.Error(), says) {
		t.Errorf("%q: %v, want %q", args, err, says)
	}
}

// fine fails the test if a command fails, and returns the lines that are not on stdout.
func fine(t *testing.T, e role.Env, args ...string) string {
	t.Helper()
	var said strings.Builder
	e.Stderr = &said
	if _, err := invoke(t.Context(), e, args...); err != nil {
		t.Errorf("%q: %v", args, err)
	}
	return said.String()
}

// The walls of a runtime that nothing but the instance names are asked about like those of one in the file, also once
// the instance is down, and a drop is told although there was a note about the walls.
func TestWallsAreAskedForAsBefore(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	const free, isolates = "\nruntime: runs programs on this machine, without containers", "local mode isolates nothing"
	e, _ := remembered(t)
	fine(t, e, "up")
	place := filepath.Join(e.Getenv("HOME"), "priv")
	if err := os.Mkdir(place, 0o700); err != nil {
		t.Fatal(err)
	}
	rewrite(t, e, fmt.Sprintf(walledClan, "~/priv"))
	refused(t, e, "\nlocal.write: lets its programs write ~/priv", "up")
	refused(t, e, "\nlocal.write: lets its programs write ~/priv", "try", "one", "--goal", "x")
	rewrite(t, e, "agents:\n  one: {command: [/bin/cat]}\n")
	refused(t, e, free, "up")
	digest, err := invoke(t.Context(), e, "config", "--digest")
	if err != nil {
		t.Fatal(err)
	}
	refused(t, e, free, "up", "--trust", strings.TrimSpace(digest)) // it covers no runtime that the file does not name
	fine(t, e, "down")
	refused(t, e, free, "up")
	if said := fine(t, e, "up", "--yes"); !strings.Contains(said, isolates) {
		t.Errorf("agreed to, and not told: %s", said)
	}
	if said := fine(t, e, "up"); strings.Contains(said, isolates) {
		t.Errorf("told again: %s", said)
	}
	rewrite(t, e, fmt.Sprintf(walledClan, ""))
	fine(t, e, "up")
	fine(t, e, "down")
	rewrite(t, e, "agents:\n  one: {command: [/bin/cat]}\n")
	if said := fine(t, e, "up"); !strings.Contains(said, isolates) {
		t.Errorf("dropped again, and not told: %s", said)
	}
}

// older makes of an instance and its record those of a sett that did not know ids.
func older(t *testing.T, e role.Env, dir string) {
	t.Helper()
	in, err := instance.LoadInstance(dir)
	if err != nil {
		t.Fatal(err)
	}
	in.ID = ""
	for _, err := range []error{in.Save(), os.RemoveAll(filepath.Join(filepath.Dir(dir), ".agreed"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Nobody is asked for what an instance of an older sett runs with; what is new is asked for.
func TestRightsOfAnOlderInstance(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	e, dir := remembered(t)
	older(t, e, dir)
	rewrite(t, e, "agents:\n  one: {command: [/bin/cat]}\n")
	refused(t, e, "\nruntime: ", "up")
	rewrite(t, e, fmt.Sprintf(walledClan, ""))
	fine(t, e, "up")
	if in, err := instance.LoadInstance(dir); err != nil || in.ID == "" {
		t.Errorf("the instance is not bound to the repository: %v", err)
	}
	older(t, e, dir)
	begin(t, e, "another", fmt.Sprintf(walledClan, ""))
	refused(t, e, "\nruntime: ", "try", "one", "--goal", "x")
}

// An instance does not go on with another repository at its path without a word, nor do the rights.
func TestAnotherRepositoryAtThePath(t *testing.T) {
	if testing.Short() {
		t.Skip(later)
	}
	t.Parallel()
	const another = "has another repository now than the one that instance clan was made for"
	e, _ := remembered(t)
	gitIn(t, e.Args[1], "", "checkout", "-q", "--orphan", "anew") // the same one, rewritten
	commitAll(t, e, "anew")
	gitIn(t, e.Args[1], "", "branch", "-D", "main")
	gitIn(t, e.Args[1], "", "reflog", "expire", "--expire=now", "--all")
	gitIn(t, e.Args[1], "", "gc", "-q", "--prune=now")
	fine(t, e, "up")

	copied := filepath.Join(e.Getenv("HOME"), "copy") // a clone begins with the same commit, and may be anybody's
	gitIn(t, e.Args[1], "", "clone", "-q", ".", copied)
	if err := os.RemoveAll(e.Args[1]); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(copied, e.Args[1]); err != nil {
		t.Fatal(err)
	}
	refused(t, e, "\nruntime: ", "up")
	refused(t, e, "\nruntime: ", "try", "one", "--goal", "x")
	fine(t, e, "up", "--yes")
	fine(t, e, "up")

	begin(t, e, "another", fmt.Sprintf(walledClan, ""))
	refused(t, e, another, "up")
	refused(t, e, "\nruntime: ", "try", "one", "--goal", "x")
	fine(t, e, "down")
	refused(t, e, another, "up")
	if said := fine(t, e, "up", "--yes"); !strings.Contains(said, another) {
		t.Errorf("agreed to, and not told: %s", said)
	}
	fine(t, e, "up")

	begin(t, e, "a third one", fmt.Sprintf(walledClan, ""))
	fine(t, e, "down", "--purge", "--yes")
	fine(t, e, "up", "--runtime", "process")
	fine(t, e, "up")
}
