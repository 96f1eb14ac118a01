package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"sett/roles/role"
)

func TestRemedy(t *testing.T) {
	for said, want := range map[string]string{
		"git update-ref: prepare: cannot lock ref 'HEAD': Unable to create '/r/.git/HEAD.lock': Permission denied": "this user may not write there: ls -ld /r/.git shows the owner and the mode",
		"git add: error: open(\"a\"): Permission denied":                                                           "this user may not write there: look at the owner and the mode of its directory",
		"git read-tree: error: unable to create file hello: Permission denied\nmore":                               "this user may not write there: look at the owner and the mode of its directory",
		"git add: error: insufficient permission for adding an object to repository database /r/.git/objects":      "this user may not write there: ls -ld /r/.git/objects shows the owner and the mode",
		"git add: error: insufficient permission for adding an object to repository database .git/objects":         "this user may not write there: look at the owner and the mode of its directory",
		"git add: fatal: write error: No space left on device":                                                     "make room on that disk, then try again",
		"git add: invalid path 'a: Permission denied' in tree":                                                     "",
		"git add: fatal: bad object": "",
	} {
		if got := Remedy(errors.New(said)); got != want {
			t.Errorf("%s\nhas the hint %q, want %q", said, got, want)
		}
	}
	for cause, want := range map[error]string{
		syscall.EACCES: "this user may not write there: ls -ld '/a b' shows the owner and the mode", syscall.ENOSPC: "make room on the disk of /a b, then try again", syscall.EDQUOT: "make room on the disk of /a b, then try again",
		syscall.ENOENT: "",
	} {
		if got := Remedy(fmt.Errorf("make it: %w", &fs.PathError{Op: "mkdir", Path: "/a b/c", Err: cause})); got != want {
			t.Errorf("%v has the hint %q, want %q", cause, got, want)
		}
	}
}

// Where git may not write, each of its errors has the hint.
func TestForbiddenHasHint(t *testing.T) {
	g, run := repository(t)
	run("commit", "-q", "--allow-empty", "-m", "one")
	head, branch := run("rev-parse", "HEAD"), run("branch", "--show-current")
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "git"), []byte("#!/bin/sh\necho \"fatal: Unable to create '/r/.git/index.lock': Permission denied\" >&2\nexit 128\n"), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	_, ran := g.Run(t.Context(), "add", "-A")
	_, held := holdBranch(t.Context(), g, branch, head, head, "why")
	for name, err := range map[string]error{"run": ran, "hold": held} {
		var e *role.Error
		if !errors.As(err, &e) || !strings.Contains(e.Hint, "ls -ld /r/.git") || e.Code != role.Environment {
			t.Errorf("%s: %v, hint %+v", name, err, e)
		}
	}
}
